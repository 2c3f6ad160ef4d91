// Integer division that cannot trap. The front end writes `a / openmps_guard / b` for a / b and
// `a /= openmps_guard = b` for a /= b (the same with %). What is not integer division is unchanged.
#pragma once

#include "float16.h"

namespace msl {
namespace openmps_detail {

// Dividing by zero, or the least integer by -1, divides by 1 instead: one select, no branch.
template <class T>
OPENMPS_INLINE constexpr T harmless_divisor(T a, T b) {
  if constexpr (T(-1) < T(0)) {
    constexpr T least = static_cast<T>(T(1) << (sizeof(T) * 8 - 1));
    return (b == 0) | ((b == T(-1)) & (a == least)) ? T(1) : b;
  } else {
    return b == 0 ? T(1) : b;
  }
}

template <class A, class B>
inline constexpr bool are_integers =
    (is_integer<A> || __is_enum(A)) && (is_integer<B> || __is_enum(B));

template <class A, class B>
OPENMPS_INLINE constexpr auto quotient(const A& a, const B& b) -> decltype(a / b) {
  if constexpr (are_integers<A, B>) {
    using T = decltype(a / b);
    return static_cast<T>(a) / harmless_divisor<T>(static_cast<T>(a), static_cast<T>(b));
  } else {
    return a / b;
  }
}

template <class A, class B>
OPENMPS_INLINE constexpr auto rest(const A& a, const B& b) -> decltype(a % b) {
  if constexpr (are_integers<A, B>) {
    using T = decltype(a % b);
    return static_cast<T>(a) % harmless_divisor<T>(static_cast<T>(a), static_cast<T>(b));
  } else {
    return a % b;
  }
}

}  // namespace openmps_detail

// A namespace of its own, so that argument lookup finds these operators and nothing else.
namespace openmps_guarded {

template <class A>
struct dividend {
  A value;
};
template <class B>
struct divisor {
  B value;
};
struct guard {
  template <class B>
  OPENMPS_INLINE constexpr divisor<B> operator=(B value) const {
    return {value};
  }
};

template <class A>
OPENMPS_INLINE constexpr dividend<A> operator/(A value, guard) {
  return {value};
}
template <class A>
OPENMPS_INLINE constexpr dividend<A> operator%(A value, guard) {
  return {value};
}
template <class A, class B>
OPENMPS_INLINE constexpr auto operator/(const dividend<A>& a, B b)
    -> decltype(openmps_detail::quotient(a.value, b)) {
  return openmps_detail::quotient(a.value, b);
}
template <class A, class B>
OPENMPS_INLINE constexpr auto operator%(const dividend<A>& a, B b)
    -> decltype(openmps_detail::rest(a.value, b)) {
  return openmps_detail::rest(a.value, b);
}
// `a` may also be a swizzle, which is a temporary object.
#define OPENMPS_GUARDED_UPDATE(op, how)                                                     \
  template <class A, class B>                                                               \
  OPENMPS_INLINE constexpr metal::remove_reference_t<A>& operator op(A && a,                \
                                                                     const divisor<B>& b) { \
    using Value = metal::remove_cv_t<metal::remove_reference_t<A>>;                         \
    if constexpr (openmps_detail::is_number<Value>) {                                       \
      a = static_cast<Value>(openmps_detail::how(static_cast<Value>(a), b.value));          \
    } else {                                                                                \
      a op b.value;                                                                         \
    }                                                                                       \
    return a;                                                                               \
  }
OPENMPS_GUARDED_UPDATE(/=, quotient)
OPENMPS_GUARDED_UPDATE(%=, rest)
#undef OPENMPS_GUARDED_UPDATE

}  // namespace openmps_guarded

inline constexpr openmps_guarded::guard openmps_guard{};

}  // namespace msl
