// half for NVRTC, which has no such type without headers of its own: 16 bits and the conversions
// and operators of a built-in number. With float it gives float, with integers half. One thing it
// cannot do: `c ? a_half : a_float`, which each of the two could become.
#pragma once

#include "../types/traits.h"

namespace msl {
namespace openmps_detail {

// Rounds to nearest, ties to even, as the machine does; for constant expressions.
constexpr unsigned short half_bits_of_constant(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  const unsigned sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7e00u);
  if (size >= 0x47800000u) return static_cast<unsigned short>(sign | 0x7c00u);
  const int exponent = static_cast<int>(size >> 23) - 127;
  if (exponent < -25) return static_cast<unsigned short>(sign);
  // Below 2^-14 the step stays what it is there.
  const unsigned dropped = exponent < -14 ? static_cast<unsigned>(-1 - exponent) : 13u;
  const unsigned mantissa = (size & 0x7fffffu) | 0x800000u;
  const unsigned kept = exponent < -14 ? mantissa : mantissa + ((exponent + 14) << 23);
  const unsigned whole = kept >> dropped, rest = kept & ((1u << dropped) - 1u);
  const unsigned middle = 1u << (dropped - 1u);
  const unsigned up = rest > middle || (rest == middle && (whole & 1u)) ? 1u : 0u;
  return static_cast<unsigned short>(sign | (whole + up));
}
constexpr float constant_of_half_bits(unsigned short half) {
  const unsigned sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u;
  const unsigned mantissa = half & 0x3ffu;
  if (exponent == 0) {
    const float size = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -size : size;
  }
  const unsigned bits = exponent == 31 ? 0x7f800000u : (exponent + 112) << 23;
  return __builtin_bit_cast(float, sign | bits | (mantissa << 13));
}

OPENMPS_INLINE unsigned short half_bits_by_machine(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
OPENMPS_INLINE float float_by_machine(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
OPENMPS_INLINE constexpr unsigned short half_bits(float value) {
  if (OPENMPS_IN_CONSTANT) return half_bits_of_constant(value);
  return half_bits_by_machine(value);
}
OPENMPS_INLINE constexpr float float_of_half(unsigned short bits) {
  if (OPENMPS_IN_CONSTANT) return constant_of_half_bits(bits);
  return float_by_machine(bits);
}

// Without .rn, a product and a sum may become one instruction.
#ifdef OPENMPS_CONTRACT
#define OPENMPS_HALF_ROUNDING ""
#else
#define OPENMPS_HALF_ROUNDING ".rn"
#endif
#define OPENMPS_HALF_BY_MACHINE(name, op)                                                      \
  OPENMPS_INLINE unsigned short half_##name##_by_machine(unsigned short a, unsigned short b) { \
    unsigned short result;                                                                     \
    asm(#name OPENMPS_HALF_ROUNDING ".f16 %0, %1, %2;" : "=h"(result) : "h"(a), "h"(b));       \
    return result;                                                                             \
  }                                                                                            \
  OPENMPS_INLINE constexpr unsigned short half_##name(unsigned short a, unsigned short b) {    \
    if (OPENMPS_IN_CONSTANT) return half_bits(float_of_half(a) op float_of_half(b));           \
    return half_##name##_by_machine(a, b);                                                     \
  }
OPENMPS_HALF_BY_MACHINE(add, +)
OPENMPS_HALF_BY_MACHINE(sub, -)
OPENMPS_HALF_BY_MACHINE(mul, *)
#undef OPENMPS_HALF_BY_MACHINE
#undef OPENMPS_HALF_ROUNDING
// Once more rounded, a quotient of floats is the quotient of halves.
OPENMPS_INLINE constexpr unsigned short half_div(unsigned short a, unsigned short b) {
  return half_bits(float_of_half(a) / float_of_half(b));
}

#if __CUDA_ARCH__ >= 800
OPENMPS_INLINE unsigned short bfloat_bits_by_machine(float value) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#endif

// Numbers that the compiler knows itself.
template <class T>
inline constexpr bool is_built_in = is_number<T> && !__is_same(T, half) && !__is_same(T, bfloat);

}  // namespace openmps_detail

namespace openmps_types {

#define OPENMPS_FOR_BUILT_IN(T) \
  template <class T, metal::enable_if_t<openmps_detail::is_built_in<T>, int> = 0>

struct half {
  unsigned short openmps_bits;

  half() = default;
  OPENMPS_FOR_BUILT_IN(T)
  OPENMPS_INLINE constexpr half(T value)
      : openmps_bits(openmps_detail::half_bits(static_cast<float>(value))) {}
  OPENMPS_FOR_BUILT_IN(T) OPENMPS_INLINE constexpr operator T() const {
    return OPENMPS_CONVERT(T, openmps_detail::float_of_half(openmps_bits));
  }
  static OPENMPS_INLINE constexpr half openmps_of(unsigned short bits) {
    half result{};
    result.openmps_bits = bits;
    return result;
  }

  OPENMPS_INLINE constexpr half operator+() const { return *this; }
  OPENMPS_INLINE constexpr half operator-() const {
    return openmps_of(static_cast<unsigned short>(openmps_bits ^ 0x8000u));
  }
  OPENMPS_INLINE constexpr half& operator++() { return *this = half(float(*this) + 1.0f); }
  OPENMPS_INLINE constexpr half& operator--() { return *this = half(float(*this) - 1.0f); }
  OPENMPS_INLINE constexpr half operator++(int) {
    const half old = *this;
    ++*this;
    return old;
  }
  OPENMPS_INLINE constexpr half operator--(int) {
    const half old = *this;
    --*this;
    return old;
  }
};

#define OPENMPS_FOR_INTEGERS \
  template <class I, metal::enable_if_t<openmps_detail::is_integer<I>, int> = 0>
#define OPENMPS_HALF_VALUE(op, name)                                                      \
  OPENMPS_INLINE constexpr half operator op(half a, half b) {                             \
    return half::openmps_of(openmps_detail::half_##name(a.openmps_bits, b.openmps_bits)); \
  }                                                                                       \
  OPENMPS_FOR_INTEGERS OPENMPS_INLINE constexpr half operator op(half a, I b) {           \
    return a op half(b);                                                                  \
  }                                                                                       \
  OPENMPS_FOR_INTEGERS OPENMPS_INLINE constexpr half operator op(I a, half b) {           \
    return half(a) op b;                                                                  \
  }                                                                                       \
  OPENMPS_INLINE constexpr float operator op(half a, float b) { return float(a) op b; }   \
  OPENMPS_INLINE constexpr float operator op(float a, half b) { return a op float(b); }   \
  OPENMPS_INLINE constexpr half& operator op##=(half & a, half b) { return a = a op b; }  \
  OPENMPS_FOR_BUILT_IN(T) OPENMPS_INLINE constexpr half& operator op##=(half & a, T b) {  \
    return a = half(a op b);                                                              \
  }                                                                                       \
  OPENMPS_FOR_BUILT_IN(T) OPENMPS_INLINE constexpr T& operator op##=(T & a, half b) {     \
    return a = static_cast<T>(a op b);                                                    \
  }
#define OPENMPS_HALF_TEST(op)                                                                \
  OPENMPS_INLINE constexpr bool operator op(half a, half b) { return float(a) op float(b); } \
  OPENMPS_FOR_INTEGERS OPENMPS_INLINE constexpr bool operator op(half a, I b) {              \
    return a op half(b);                                                                     \
  }                                                                                          \
  OPENMPS_FOR_INTEGERS OPENMPS_INLINE constexpr bool operator op(I a, half b) {              \
    return half(a) op b;                                                                     \
  }                                                                                          \
  OPENMPS_INLINE constexpr bool operator op(half a, float b) { return float(a) op b; }       \
  OPENMPS_INLINE constexpr bool operator op(float a, half b) { return a op float(b); }
OPENMPS_HALF_VALUE(+, add)
OPENMPS_HALF_VALUE(-, sub)
OPENMPS_HALF_VALUE(*, mul)
OPENMPS_HALF_VALUE(/, div)
OPENMPS_HALF_TEST(==)
OPENMPS_HALF_TEST(!=)
OPENMPS_HALF_TEST(<)
OPENMPS_HALF_TEST(<=)
OPENMPS_HALF_TEST(>)
OPENMPS_HALF_TEST(>=)
#undef OPENMPS_HALF_TEST
#undef OPENMPS_HALF_VALUE
#undef OPENMPS_FOR_INTEGERS
#undef OPENMPS_FOR_BUILT_IN

}  // namespace openmps_types
}  // namespace msl
