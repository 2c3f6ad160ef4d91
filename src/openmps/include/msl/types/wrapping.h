// Signed integers that wrap. The front end marks sums, differences and products (msl/wrapping.py):
// `a + OPENMPS_WRAP(+) b`, `a += OPENMPS_WRAP(=) b`. For the CPU's compilers the marks are empty:
// they are told -fwrapv. NVRTC has no such option: it gets `a + openmps_wrap + b`, and these
// operators compute without a sign. What is no signed integer is unchanged.
#pragma once

#include "guard.h"

// OPENMPS_UNMARKED: the marks are empty here, too (targets/cuda.py).
#if defined(__CUDACC_RTC__) && !defined(OPENMPS_UNMARKED)
#define OPENMPS_WRAP(op) openmps_wrap op
#define OPENMPS_NEGATIVE(...) (openmps_wrap - __VA_ARGS__)
#define OPENMPS_INCREMENT(...) (openmps_wrap += __VA_ARGS__)
#define OPENMPS_DECREMENT(...) (openmps_wrap -= __VA_ARGS__)
#define OPENMPS_INCREMENT_AFTER(...) (openmps_wrap << __VA_ARGS__)
#define OPENMPS_DECREMENT_AFTER(...) (openmps_wrap >> __VA_ARGS__)
#else
#define OPENMPS_WRAP(op)
#define OPENMPS_NEGATIVE(...) -__VA_ARGS__
#define OPENMPS_INCREMENT(...) ++__VA_ARGS__
#define OPENMPS_DECREMENT(...) --__VA_ARGS__
#define OPENMPS_INCREMENT_AFTER(...) __VA_ARGS__++
#define OPENMPS_DECREMENT_AFTER(...) __VA_ARGS__--
#endif

namespace msl {
namespace openmps_detail {

// Whether the compiler may think that T does not overflow. Smaller types become int first, and fit.
template <class T>
inline constexpr bool may_overflow = false;
#ifdef __CUDACC_RTC__
template <>
inline constexpr bool may_overflow<int> = true;
template <>
inline constexpr bool may_overflow<long> = true;
template <>
inline constexpr bool may_overflow<long long> = true;
#endif

template <class T>
OPENMPS_INLINE constexpr auto without_sign(T value) {
  if constexpr (may_overflow<T>) {
    return static_cast<metal::make_unsigned_t<T>>(value);
  } else {
    return value;
  }
}

#define OPENMPS_WRAPPING(name, op)                                                         \
  template <class A, class B>                                                              \
  OPENMPS_INLINE constexpr auto name(A a, B b) -> decltype(a op b) {                       \
    using T = decltype(a op b);                                                            \
    if constexpr (may_overflow<T> && are_integers<A, B>) {                                 \
      const auto p = without_sign(static_cast<T>(a)), q = without_sign(static_cast<T>(b)); \
      return static_cast<T>(p op q);                                                       \
    } else {                                                                               \
      return a op b;                                                                       \
    }                                                                                      \
  }
OPENMPS_WRAPPING(sum, +)
OPENMPS_WRAPPING(difference, -)
OPENMPS_WRAPPING(product, *)
#undef OPENMPS_WRAPPING

template <class A>
OPENMPS_INLINE constexpr auto negative(A a) -> decltype(-a) {
  return static_cast<decltype(-a)>(-without_sign(a));
}

}  // namespace openmps_detail

#ifdef __CUDACC_RTC__
// Members and friends: a namespace of free operators takes NVRTC twice as long to look through.
namespace openmps_wrapped {

template <class A>
struct left {
  A value;
#define OPENMPS_WITH(op, how)                                                  \
  template <class B>                                                           \
  OPENMPS_INLINE constexpr auto operator op(B b) const->decltype(value op b) { \
    return openmps_detail::how(value, b);                                      \
  }
  OPENMPS_WITH(+, sum)
  OPENMPS_WITH(-, difference)
  OPENMPS_WITH(*, product)
#undef OPENMPS_WITH
};

// `a` may also be a swizzle, which is a temporary object.
template <class B>
struct right {
  B value;
#define OPENMPS_UPDATE(op, how)                                                                \
  template <class A>                                                                           \
  friend OPENMPS_INLINE constexpr metal::remove_reference_t<A>& operator op(A && a,            \
                                                                            const right & b) { \
    using Value = metal::remove_cv_t<metal::remove_reference_t<A>>;                            \
    if constexpr (openmps_detail::is_integer<Value>) {                                         \
      a = static_cast<Value>(openmps_detail::how(static_cast<Value>(a), b.value));             \
    } else {                                                                                   \
      a op b.value;                                                                            \
    }                                                                                          \
    return a;                                                                                  \
  }
  OPENMPS_UPDATE(+=, sum)
  OPENMPS_UPDATE(-=, difference)
  OPENMPS_UPDATE(*=, product)
#undef OPENMPS_UPDATE
};

struct wrap {
#define OPENMPS_TAKE_LEFT(op)                                          \
  template <class A>                                                   \
  friend OPENMPS_INLINE constexpr left<A> operator op(A value, wrap) { \
    return {value};                                                    \
  }
  OPENMPS_TAKE_LEFT(+)
  OPENMPS_TAKE_LEFT(-)
  OPENMPS_TAKE_LEFT(*)
#undef OPENMPS_TAKE_LEFT
  template <class B>
  OPENMPS_INLINE constexpr right<B> operator=(B value) const {
    return {value};
  }

  template <class A>
  OPENMPS_INLINE constexpr auto operator-(A a) const -> decltype(-a) {
    return openmps_detail::negative(a);
  }
#define OPENMPS_STEP(step, before, after, how)               \
  template <class A>                                         \
  OPENMPS_INLINE constexpr A& operator before(A & a) const { \
    if constexpr (openmps_detail::may_overflow<A>) {         \
      a = openmps_detail::how(a, A(1));                      \
    } else {                                                 \
      step a;                                                \
    }                                                        \
    return a;                                                \
  }                                                          \
  template <class A>                                         \
  OPENMPS_INLINE constexpr A operator after(A& a) const {    \
    const A old = a;                                         \
    *this before a;                                          \
    return old;                                              \
  }
  OPENMPS_STEP(++, +=, <<, sum)
  OPENMPS_STEP(--, -=, >>, difference)
#undef OPENMPS_STEP
};

}  // namespace openmps_wrapped

inline constexpr openmps_wrapped::wrap openmps_wrap{};
#endif

}  // namespace msl
