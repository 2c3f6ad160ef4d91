// bfloat. (half is the compiler's _Float16, or that of cuda/half.h.) As in Metal: a float becomes a
// bfloat only when asked, a bfloat becomes a float or bool freely, and there are no functions that
// take a bfloat.
#pragma once

#include "traits.h"
#ifdef __CUDACC_RTC__
#include "../cuda/half.h"
#endif

namespace msl {
namespace openmps_detail {

// Rounds to nearest, ties to even; a NaN stays one.
OPENMPS_INLINE constexpr unsigned short bfloat_bits(float value) {
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 800
  if (!OPENMPS_IN_CONSTANT) return bfloat_bits_by_machine(value);
#endif
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  const unsigned rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<unsigned short>(value != value ? ((bits >> 16) | 0x40u) : rounded);
}

template <class T>
inline constexpr bool is_plain_number = is_number<T>;
template <>
inline constexpr bool is_plain_number<bfloat> = false;

// The float conversions C++ would do by itself if bfloat were built in.
template <class T>
inline constexpr bool is_bfloat_free = false;
template <>
inline constexpr bool is_bfloat_free<float> = true;
template <>
inline constexpr bool is_bfloat_free<bool> = true;

}  // namespace openmps_detail

namespace openmps_types {

struct bfloat {
  unsigned short openmps_bits;

  bfloat() = default;
  template <class T, metal::enable_if_t<openmps_detail::is_integer<T>, int> = 0>
  OPENMPS_INLINE constexpr bfloat(T value)
      : openmps_bits(openmps_detail::bfloat_bits(static_cast<float>(value))) {}
  template <class T, metal::enable_if_t<openmps_detail::is_float<T>, long> = 0>
  OPENMPS_INLINE explicit constexpr bfloat(T value)
      : openmps_bits(openmps_detail::bfloat_bits(static_cast<float>(value))) {}

  OPENMPS_INLINE constexpr float openmps_float() const {
    return __builtin_bit_cast(float, static_cast<unsigned>(openmps_bits) << 16);
  }
  // Templates, so that the other arm of `c ? a_bfloat : 0` becomes a bfloat and not the reverse.
  template <class T, metal::enable_if_t<openmps_detail::is_bfloat_free<T>, int> = 0>
  OPENMPS_INLINE constexpr operator T() const {
    return OPENMPS_CONVERT(T, openmps_float());
  }
  template <class T,
            metal::enable_if_t<
                openmps_detail::is_plain_number<T> && !openmps_detail::is_bfloat_free<T>, long> = 0>
  OPENMPS_INLINE explicit constexpr operator T() const {
    return OPENMPS_CONVERT(T, openmps_float());
  }

  OPENMPS_INLINE constexpr bfloat operator+() const { return *this; }
  OPENMPS_INLINE constexpr bfloat operator-() const {
    bfloat result{};
    result.openmps_bits = openmps_bits ^ 0x8000u;
    return result;
  }
  OPENMPS_INLINE constexpr bfloat& operator++() { return *this = bfloat(openmps_float() + 1.0f); }
  OPENMPS_INLINE constexpr bfloat& operator--() { return *this = bfloat(openmps_float() - 1.0f); }
  OPENMPS_INLINE constexpr bfloat operator++(int) {
    const bfloat old = *this;
    ++*this;
    return old;
  }
  OPENMPS_INLINE constexpr bfloat operator--(int) {
    const bfloat old = *this;
    --*this;
    return old;
  }
};

// bfloat with bfloat or an integer gives bfloat; with float or half it gives float.
#define OPENMPS_FOR_INTEGERS \
  template <class I, metal::enable_if_t<openmps_detail::is_integer<I>, int> = 0>
#define OPENMPS_FOR_NUMBERS \
  template <class T, metal::enable_if_t<openmps_detail::is_plain_number<T>, int> = 0>
#define OPENMPS_BFLOAT_MIXED(Result, op)                                                         \
  OPENMPS_INLINE constexpr Result operator op(float a, bfloat b) { return a op float(b); }       \
  OPENMPS_INLINE constexpr Result operator op(bfloat a, float b) { return float(a) op b; }       \
  OPENMPS_INLINE constexpr Result operator op(half a, bfloat b) { return float(a) op float(b); } \
  OPENMPS_INLINE constexpr Result operator op(bfloat a, half b) { return float(a) op float(b); }
#define OPENMPS_BFLOAT_VALUE(op)                                                         \
  OPENMPS_INLINE constexpr bfloat operator op(bfloat a, bfloat b) {                      \
    return bfloat(float(a) op float(b));                                                 \
  }                                                                                      \
  OPENMPS_FOR_INTEGERS OPENMPS_INLINE constexpr bfloat operator op(bfloat a, I b) {      \
    return a op bfloat(b);                                                               \
  }                                                                                      \
  OPENMPS_FOR_INTEGERS OPENMPS_INLINE constexpr bfloat operator op(I a, bfloat b) {      \
    return bfloat(a) op b;                                                               \
  }                                                                                      \
  OPENMPS_BFLOAT_MIXED(float, op)                                                        \
  OPENMPS_INLINE constexpr bfloat& operator op##=(bfloat & a, bfloat b) {                \
    return a = bfloat(float(a) op float(b));                                             \
  }                                                                                      \
  OPENMPS_FOR_NUMBERS OPENMPS_INLINE constexpr bfloat& operator op##=(bfloat & a, T b) { \
    return a = bfloat(a op b);                                                           \
  }                                                                                      \
  OPENMPS_FOR_NUMBERS OPENMPS_INLINE constexpr T& operator op##=(T & a, bfloat b) {      \
    return a = static_cast<T>(a op b);                                                   \
  }
#define OPENMPS_BFLOAT_TEST(op)                                                                  \
  OPENMPS_INLINE constexpr bool operator op(bfloat a, bfloat b) { return float(a) op float(b); } \
  OPENMPS_FOR_INTEGERS OPENMPS_INLINE constexpr bool operator op(bfloat a, I b) {                \
    return a op bfloat(b);                                                                       \
  }                                                                                              \
  OPENMPS_FOR_INTEGERS OPENMPS_INLINE constexpr bool operator op(I a, bfloat b) {                \
    return bfloat(a) op b;                                                                       \
  }                                                                                              \
  OPENMPS_BFLOAT_MIXED(bool, op)
OPENMPS_BFLOAT_VALUE(+)
OPENMPS_BFLOAT_VALUE(-)
OPENMPS_BFLOAT_VALUE(*)
OPENMPS_BFLOAT_VALUE(/)
OPENMPS_BFLOAT_TEST(==)
OPENMPS_BFLOAT_TEST(!=)
OPENMPS_BFLOAT_TEST(<)
OPENMPS_BFLOAT_TEST(<=)
OPENMPS_BFLOAT_TEST(>)
OPENMPS_BFLOAT_TEST(>=)
#undef OPENMPS_BFLOAT_TEST
#undef OPENMPS_BFLOAT_VALUE
#undef OPENMPS_BFLOAT_MIXED
#undef OPENMPS_FOR_NUMBERS
#undef OPENMPS_FOR_INTEGERS

}  // namespace openmps_types
}  // namespace msl
