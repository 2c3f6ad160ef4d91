// metal_math and metal_common: functions of float, of half (computed in float, rounded once), and
// of vectors of them. precise:: and fast:: are the same functions. Nothing takes a bfloat; it
// becomes a float by itself, and users define their own overloads.
#pragma once

#include "composed.h"
#include "minmax.h"

namespace msl {
namespace metal {

#define OPENMPS_MATH_1(name, ...)                                               \
  OPENMPS_INLINE float name(float x) { return __VA_ARGS__; }                    \
  OPENMPS_INLINE half name(half x) { return half(name(float(x))); }             \
  OPENMPS_INTEGERS(T) OPENMPS_INLINE float name(T x) { return name(float(x)); } \
  OPENMPS_LIFT_1(name)                                                          \
  OPENMPS_BOTH(name)
#define OPENMPS_MATH_2(name, ...)                                                        \
  OPENMPS_INLINE float name(float x, float y) { return __VA_ARGS__; }                    \
  OPENMPS_INLINE half name(half x, half y) { return half(name(float(x), float(y))); }    \
  template <class A, class B, enable_if_t<openmps_detail::is_mixed_math<A, B>, int> = 0> \
  OPENMPS_INLINE auto name(A x, B y) {                                                   \
    using T = openmps_detail::math_type<A, B>;                                           \
    return name(T(x), T(y));                                                             \
  }                                                                                      \
  OPENMPS_LIFT_2(name)                                                                   \
  OPENMPS_BOTH(name)
#define OPENMPS_MATH_3(name, ...)                                              \
  OPENMPS_INLINE float name(float x, float y, float z) { return __VA_ARGS__; } \
  OPENMPS_INLINE half name(half x, half y, half z) {                           \
    return half(name(float(x), float(y), float(z)));                           \
  }                                                                            \
  template <class A, class B, class C,                                         \
            enable_if_t<openmps_detail::is_mixed_math<A, B, C>, int> = 0>      \
  OPENMPS_INLINE auto name(A x, B y, C z) {                                    \
    using T = openmps_detail::math_type<A, B, C>;                              \
    return name(T(x), T(y), T(z));                                             \
  }                                                                            \
  OPENMPS_LIFT_3(name)                                                         \
  OPENMPS_BOTH(name)
#define OPENMPS_BOTH(name) \
  namespace precise {      \
  using metal::name;       \
  }                        \
  namespace fast {         \
  using metal::name;       \
  }

OPENMPS_MATH_1(acos, __builtin_acosf(x))
OPENMPS_MATH_1(acosh, __builtin_acoshf(x))
OPENMPS_MATH_1(asin, __builtin_asinf(x))
OPENMPS_MATH_1(asinh, __builtin_asinhf(x))
OPENMPS_MATH_1(atan, __builtin_atanf(x))
OPENMPS_MATH_1(atanh, __builtin_atanhf(x))
OPENMPS_MATH_1(ceil, __builtin_ceilf(x))
OPENMPS_MATH_1(cos, __builtin_cosf(x))
OPENMPS_MATH_1(cosh, __builtin_coshf(x))
OPENMPS_MATH_1(cospi, openmps_detail::cos_pi(x))
OPENMPS_MATH_1(exp, __builtin_expf(x))
OPENMPS_MATH_1(exp2, openmps_detail::exp_base_2(x))
OPENMPS_MATH_1(exp10, __builtin_exp10f(x))
OPENMPS_MATH_1(fabs, __builtin_fabsf(x))
OPENMPS_MATH_1(floor, __builtin_floorf(x))
OPENMPS_MATH_1(fract, openmps_detail::fraction(x))
OPENMPS_MATH_1(log, __builtin_logf(x))
OPENMPS_MATH_1(log2, openmps_detail::log_base_2(x))
OPENMPS_MATH_1(log10, __builtin_log10f(x))
OPENMPS_MATH_1(rint, __builtin_rintf(x))
OPENMPS_MATH_1(round, __builtin_roundf(x))
OPENMPS_MATH_1(rsqrt, 1.0f / __builtin_sqrtf(x))
OPENMPS_MATH_1(sin, __builtin_sinf(x))
OPENMPS_MATH_1(sinh, __builtin_sinhf(x))
OPENMPS_MATH_1(sinpi, openmps_detail::sin_pi(x))
OPENMPS_MATH_1(sqrt, __builtin_sqrtf(x))
OPENMPS_MATH_1(tan, __builtin_tanf(x))
OPENMPS_MATH_1(tanh, openmps_detail::hyperbolic_tangent(x))
OPENMPS_MATH_1(tanpi, openmps_detail::sin_pi(x) / openmps_detail::cos_pi(x))
OPENMPS_MATH_1(trunc, __builtin_truncf(x))
OPENMPS_MATH_1(saturate, __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f))
OPENMPS_MATH_1(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? x : 0.0f)

OPENMPS_MATH_2(atan2, __builtin_atan2f(x, y))
OPENMPS_MATH_2(copysign, __builtin_copysignf(x, y))
OPENMPS_MATH_2(divide, x / y)
OPENMPS_MATH_2(fdim, x - y > 0.0f || x != x || y != y ? x - y : 0.0f)
OPENMPS_MATH_2(fmax, __builtin_fmaxf(x, y))
OPENMPS_MATH_2(fmin, __builtin_fminf(x, y))
OPENMPS_MATH_2(fmod, __builtin_fmodf(x, y))
OPENMPS_MATH_2(pow, __builtin_powf(x, y))
OPENMPS_MATH_2(powr, x < 0.0f ? NAN : __builtin_powf(x, y))
OPENMPS_MATH_2(step, y < x ? 0.0f : 1.0f)

OPENMPS_MATH_3(fma, __builtin_fmaf(x, y, z))
OPENMPS_MATH_3(mix, x + (y - x) * z)
// Takes the edges first: t = (z - x) / (y - x), then 3 t^2 - 2 t^3.
OPENMPS_MATH_3(smoothstep, fma(-2.0f, saturate((z - x) / (y - x)), 3.0f) *
                               saturate((z - x) / (y - x)) * saturate((z - x) / (y - x)))

// Steps in its own format, so half cannot go through float.
OPENMPS_INLINE float nextafter(float x, float y) { return __builtin_nextafterf(x, y); }
OPENMPS_INLINE half nextafter(half x, half y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == half(0)) return as_type<half>(ushort(y > x ? 0x0001 : 0x8001));
  const ushort bits = as_type<ushort>(x);
  return as_type<half>(ushort((y > x) == (x > half(0)) ? bits + 1 : bits - 1));
}
OPENMPS_LIFT_2(nextafter)
OPENMPS_BOTH(nextafter)

OPENMPS_INLINE float ldexp(float x, int k) { return __builtin_ldexpf(x, k); }
OPENMPS_INLINE half ldexp(half x, int k) { return half(__builtin_ldexpf(float(x), k)); }
template <class T, int N>
OPENMPS_INLINE vec<T, N> ldexp(const vec<T, N>& x, const vec<int, N>& k) {
  vec<T, N> result;
  for (int i = 0; i < N; ++i) result[i] = ldexp(x[i], k[i]);
  return result;
}
OPENMPS_BOTH(ldexp)

OPENMPS_INLINE int ilogb(float x) { return __builtin_ilogbf(x); }
OPENMPS_INLINE int ilogb(half x) { return __builtin_ilogbf(float(x)); }
template <class T, int N>
OPENMPS_INLINE vec<int, N> ilogb(const vec<T, N>& x) {
  vec<int, N> result;
  for (int i = 0; i < N; ++i) result[i] = ilogb(x[i]);
  return result;
}
OPENMPS_BOTH(ilogb)

// These give a second result through a reference.
#define OPENMPS_SECOND_RESULT(name, U)                                   \
  template <class T, int N>                                              \
  OPENMPS_INLINE vec<T, N> name(const vec<T, N>& x, vec<U, N>& second) { \
    vec<T, N> result;                                                    \
    for (int i = 0; i < N; ++i) result[i] = name(x[i], second[i]);       \
    return result;                                                       \
  }                                                                      \
  OPENMPS_BOTH(name)
OPENMPS_INLINE float frexp(float x, int& exponent) { return __builtin_frexpf(x, &exponent); }
OPENMPS_INLINE half frexp(half x, int& exponent) {
  return half(__builtin_frexpf(float(x), &exponent));
}
OPENMPS_SECOND_RESULT(frexp, int)
OPENMPS_INLINE float modf(float x, float& whole) {
  whole = __builtin_truncf(x);
  const float part = __builtin_fabsf(x) == INFINITY ? 0.0f : x - whole;
  return __builtin_copysignf(part, x);
}
OPENMPS_INLINE half modf(half x, half& whole) {
  float wide;
  const float part = modf(float(x), wide);
  whole = half(wide);
  return half(part);
}
OPENMPS_SECOND_RESULT(modf, T)
OPENMPS_INLINE float sincos(float x, float& cosine) {
  cosine = __builtin_cosf(x);
  return __builtin_sinf(x);
}
OPENMPS_INLINE half sincos(half x, half& cosine) {
  cosine = cos(x);
  return sin(x);
}
OPENMPS_SECOND_RESULT(sincos, T)
#undef OPENMPS_SECOND_RESULT
#undef OPENMPS_MATH_1
#undef OPENMPS_MATH_2
#undef OPENMPS_MATH_3

}  // namespace metal
}  // namespace msl
