// min, max, clamp, abs and what is made of them, for integers and floats. Of a number and a NaN,
// min and max take the number.
#pragma once

#include "elementwise.h"

namespace msl {
namespace metal {

#define OPENMPS_MINMAX(name, op, builtin)                                                          \
  OPENMPS_INLINE constexpr float name(float a, float b) { return builtin(a, b); }                  \
  OPENMPS_INLINE constexpr half name(half a, half b) { return half(builtin(float(a), float(b))); } \
  OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T name(T a, T b) { return a op b ? a : b; }         \
  template <class A, class B,                                                                      \
            enable_if_t<openmps_detail::is_mixed_math<A, B> && !is_same_v<A, B>, int> = 0>         \
  OPENMPS_INLINE constexpr auto name(A a, B b) {                                                   \
    using T = decltype(a + b);                                                                     \
    return name(static_cast<T>(a), static_cast<T>(b));                                             \
  }                                                                                                \
  OPENMPS_LIFT_2(name)
OPENMPS_MINMAX(min, <, __builtin_fminf)
OPENMPS_MINMAX(max, >, __builtin_fmaxf)
#undef OPENMPS_MINMAX

OPENMPS_INLINE constexpr float clamp(float x, float low, float high) {
  return min(max(x, low), high);
}
OPENMPS_INLINE constexpr half clamp(half x, half low, half high) { return min(max(x, low), high); }
OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T clamp(T x, T low, T high) {
  return min(max(x, low), high);
}
template <
    class A, class B, class C,
    enable_if_t<openmps_detail::is_mixed_math<A, B, C> && !(is_same_v<A, B> && is_same_v<B, C>),
                int> = 0>
OPENMPS_INLINE constexpr auto clamp(A x, B low, C high) {
  using T = decltype(x + low + high);
  return clamp(static_cast<T>(x), static_cast<T>(low), static_cast<T>(high));
}
OPENMPS_LIFT_3(clamp)

OPENMPS_INLINE constexpr float abs(float x) { return __builtin_fabsf(x); }
OPENMPS_INLINE constexpr half abs(half x) { return half(__builtin_fabsf(float(x))); }
OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T abs(T x) {
  if constexpr (is_signed_v<T>) {
    return static_cast<T>(x < 0 ? openmps_detail::negative(x) : x);
  } else {
    return x;
  }
}
OPENMPS_LIFT_1(abs)

#define OPENMPS_OF_THREE(name, ...)                \
  template <class T>                               \
  OPENMPS_INLINE constexpr T name(T a, T b, T c) { \
    return static_cast<T>(__VA_ARGS__);            \
  }
OPENMPS_OF_THREE(min3, min(min(a, b), c))
OPENMPS_OF_THREE(max3, max(max(a, b), c))
OPENMPS_OF_THREE(median3, max(min(a, b), min(max(a, b), c)))
OPENMPS_OF_THREE(fmin3, min(min(a, b), c))
OPENMPS_OF_THREE(fmax3, max(max(a, b), c))
OPENMPS_OF_THREE(fmedian3, max(min(a, b), min(max(a, b), c)))
#undef OPENMPS_OF_THREE

namespace precise {
using metal::abs;
using metal::clamp;
using metal::fmax3;
using metal::fmedian3;
using metal::fmin3;
using metal::max;
using metal::max3;
using metal::median3;
using metal::min;
using metal::min3;
}  // namespace precise
namespace fast {
using metal::abs;
using metal::clamp;
using metal::fmax3;
using metal::fmedian3;
using metal::fmin3;
using metal::max;
using metal::max3;
using metal::median3;
using metal::min;
using metal::min3;
}  // namespace fast

}  // namespace metal
}  // namespace msl
