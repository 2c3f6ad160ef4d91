// numeric_limits. A vector's limits are those of its element, in every element.
#pragma once

#include "constants.h"
#include "vector.h"

namespace msl {
namespace metal {

// MLX specialises this one, as Apple's own header does.
template <class T>
struct _numeric_limits_impl {
  static constexpr bool is_specialized = false;
};
template <class T>
struct numeric_limits : _numeric_limits_impl<T> {};
template <class T>
struct numeric_limits<const T> : numeric_limits<T> {};

#define OPENMPS_INTEGER_LIMITS(T, least, greatest, bits) \
  template <>                                            \
  struct numeric_limits<T> {                             \
    static constexpr bool is_specialized = true;         \
    static constexpr bool is_signed = least < 0;         \
    static constexpr bool is_integer = true;             \
    static constexpr bool is_exact = true;               \
    static constexpr bool is_bounded = true;             \
    static constexpr bool is_modulo = least == 0;        \
    static constexpr bool is_iec559 = false;             \
    static constexpr bool has_infinity = false;          \
    static constexpr bool has_quiet_NaN = false;         \
    static constexpr bool has_signaling_NaN = false;     \
    static constexpr int radix = 2;                      \
    static constexpr int digits = bits;                  \
    static constexpr int digits10 = bits * 3 / 10;       \
    static constexpr T min() { return least; }           \
    static constexpr T lowest() { return least; }        \
    static constexpr T max() { return greatest; }        \
    static constexpr T epsilon() { return 0; }           \
    static constexpr T round_error() { return 0; }       \
    static constexpr T infinity() { return 0; }          \
    static constexpr T quiet_NaN() { return 0; }         \
    static constexpr T signaling_NaN() { return 0; }     \
    static constexpr T denorm_min() { return 0; }        \
  };
OPENMPS_INTEGER_LIMITS(bool, 0, 1, 1)
OPENMPS_INTEGER_LIMITS(char, SCHAR_MIN, SCHAR_MAX, 7)
OPENMPS_INTEGER_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX, 7)
OPENMPS_INTEGER_LIMITS(unsigned char, 0, UCHAR_MAX, 8)
OPENMPS_INTEGER_LIMITS(short, SHRT_MIN, SHRT_MAX, 15)
OPENMPS_INTEGER_LIMITS(unsigned short, 0, USHRT_MAX, 16)
OPENMPS_INTEGER_LIMITS(int, INT_MIN, INT_MAX, 31)
OPENMPS_INTEGER_LIMITS(unsigned int, 0, UINT_MAX, 32)
OPENMPS_INTEGER_LIMITS(long, LONG_MIN, LONG_MAX, 63)
OPENMPS_INTEGER_LIMITS(unsigned long, 0, ULONG_MAX, 64)
OPENMPS_INTEGER_LIMITS(long long, LONG_MIN, LONG_MAX, 63)
OPENMPS_INTEGER_LIMITS(unsigned long long, 0, ULONG_MAX, 64)
#undef OPENMPS_INTEGER_LIMITS

#define OPENMPS_FLOAT_LIMITS(T, least, greatest, step, smallest, bits, decimals, low, high) \
  template <>                                                                               \
  struct numeric_limits<T> {                                                                \
    static constexpr bool is_specialized = true;                                            \
    static constexpr bool is_signed = true;                                                 \
    static constexpr bool is_integer = false;                                               \
    static constexpr bool is_exact = false;                                                 \
    static constexpr bool is_bounded = true;                                                \
    static constexpr bool is_modulo = false;                                                \
    static constexpr bool is_iec559 = true;                                                 \
    static constexpr bool has_infinity = true;                                              \
    static constexpr bool has_quiet_NaN = true;                                             \
    static constexpr bool has_signaling_NaN = true;                                         \
    static constexpr int radix = 2;                                                         \
    static constexpr int digits = bits;                                                     \
    static constexpr int digits10 = decimals;                                               \
    static constexpr int max_digits10 = decimals + 3;                                       \
    static constexpr int min_exponent = low;                                                \
    static constexpr int max_exponent = high;                                               \
    static constexpr T min() { return T(least); }                                           \
    static constexpr T lowest() { return T(-greatest); }                                    \
    static constexpr T max() { return T(greatest); }                                        \
    static constexpr T epsilon() { return T(step); }                                        \
    static constexpr T round_error() { return T(0.5f); }                                    \
    static constexpr T infinity() { return T(INFINITY); }                                   \
    static constexpr T quiet_NaN() { return T(NAN); }                                       \
    static constexpr T signaling_NaN() { return T(NAN); }                                   \
    static constexpr T denorm_min() { return T(smallest); }                                 \
  };
OPENMPS_FLOAT_LIMITS(float, FLT_MIN, FLT_MAX, FLT_EPSILON, 0x1p-149f, 24, 6, -125, 128)
OPENMPS_FLOAT_LIMITS(half, 0x1p-14f, 65504.0f, 0x1p-10f, 0x1p-24f, 11, 3, -13, 16)
OPENMPS_FLOAT_LIMITS(bfloat, FLT_MIN, 0x1.fep127f, 0x1p-7f, 0x1p-133f, 8, 2, -125, 128)
#undef OPENMPS_FLOAT_LIMITS

template <class T, int N>
struct numeric_limits<vec<T, N>> : numeric_limits<T> {
#define OPENMPS_VECTOR_LIMIT(name) \
  static constexpr vec<T, N> name() { return vec<T, N>(numeric_limits<T>::name()); }
  OPENMPS_VECTOR_LIMIT(min)
  OPENMPS_VECTOR_LIMIT(lowest)
  OPENMPS_VECTOR_LIMIT(max)
  OPENMPS_VECTOR_LIMIT(epsilon)
  OPENMPS_VECTOR_LIMIT(infinity)
  OPENMPS_VECTOR_LIMIT(quiet_NaN)
  OPENMPS_VECTOR_LIMIT(denorm_min)
#undef OPENMPS_VECTOR_LIMIT
};

}  // namespace metal
}  // namespace msl
