// Macros that lift a function of scalars, already declared under `name`, to vectors. They are
// undefined again at the end of metal.h.
#pragma once

#include "../types/vector.h"

#define OPENMPS_INTEGERS(T) \
  template <class T, metal::enable_if_t<openmps_detail::is_integer<T>, int> = 0>

#define OPENMPS_LIFT_1(name)                                            \
  template <class T, int N>                                             \
  OPENMPS_INLINE constexpr vec<T, N> name(const vec<T, N>& a) {         \
    vec<T, N> result{};                                                 \
    for (int i = 0; i < N; ++i) result[i] = static_cast<T>(name(a[i])); \
    return result;                                                      \
  }

#define OPENMPS_LIFT_2(name)                                                        \
  template <class T, int N>                                                         \
  OPENMPS_INLINE constexpr vec<T, N> name(const vec<T, N>& a, const vec<T, N>& b) { \
    vec<T, N> result{};                                                             \
    for (int i = 0; i < N; ++i) result[i] = static_cast<T>(name(a[i], b[i]));       \
    return result;                                                                  \
  }                                                                                 \
  template <class T, int N, class A, OPENMPS_IF_NUMBER(A)>                          \
  OPENMPS_INLINE constexpr vec<T, N> name(const vec<T, N>& a, A b) {                \
    return name(a, vec<T, N>(b));                                                   \
  }                                                                                 \
  template <class T, int N, class A, OPENMPS_IF_NUMBER(A)>                          \
  OPENMPS_INLINE constexpr vec<T, N> name(A a, const vec<T, N>& b) {                \
    return name(vec<T, N>(a), b);                                                   \
  }

#define OPENMPS_LIFT_3(name)                                                           \
  template <class T, int N>                                                            \
  OPENMPS_INLINE constexpr vec<T, N> name(const vec<T, N>& a, const vec<T, N>& b,      \
                                          const vec<T, N>& c) {                        \
    vec<T, N> result{};                                                                \
    for (int i = 0; i < N; ++i) result[i] = static_cast<T>(name(a[i], b[i], c[i]));    \
    return result;                                                                     \
  }                                                                                    \
  template <class A, class B, class C, class V = openmps_detail::only_vector<A, B, C>> \
  OPENMPS_INLINE constexpr V name(const A& a, const B& b, const C& c) {                \
    return name(V(a), V(b), V(c));                                                     \
  }

// A vector of truth values from a test of scalars.
#define OPENMPS_LIFT_TEST_1(name)                                  \
  template <class T, int N>                                        \
  OPENMPS_INLINE constexpr vec<bool, N> name(const vec<T, N>& a) { \
    vec<bool, N> result{};                                         \
    for (int i = 0; i < N; ++i) result[i] = name(a[i]);            \
    return result;                                                 \
  }
#define OPENMPS_LIFT_TEST_2(name)                                                      \
  template <class T, int N>                                                            \
  OPENMPS_INLINE constexpr vec<bool, N> name(const vec<T, N>& a, const vec<T, N>& b) { \
    vec<bool, N> result{};                                                             \
    for (int i = 0; i < N; ++i) result[i] = name(a[i], b[i]);                          \
    return result;                                                                     \
  }

namespace msl {
namespace openmps_detail {

// What functions of float and half make of other scalars: half if only halves and integers come.
template <class... A>
inline constexpr bool is_half_math =
    ((__is_same(A, half) || is_integer<A>) && ...) && (__is_same(A, half) || ...);
template <class... A>
using math_type = metal::conditional_t<is_half_math<A...>, half, float>;
// The arguments need that: plain numbers, and not all float or all half, which match exactly.
template <class... A>
inline constexpr bool is_mixed_math =
    (is_plain_number<A> && ...) && !(__is_same(A, float) && ...) && !(__is_same(A, half) && ...);

// For calls that mix one type of vector with scalars: the vector.
template <class A, class B, class C>
struct find_vector {
  static constexpr int width = shape<A>::size > 1   ? shape<A>::size
                               : shape<B>::size > 1 ? shape<B>::size
                                                    : shape<C>::size;
  using element =
      metal::conditional_t<(shape<A>::size > 1), typename shape<A>::element,
                           metal::conditional_t<(shape<B>::size > 1), typename shape<B>::element,
                                                typename shape<C>::element>>;
  static constexpr bool mixed = width > 1 && !(__is_same(A, B) && __is_same(B, C)) &&
                                (shape<A>::size == width || is_number<A>) &&
                                (shape<B>::size == width || is_number<B>) &&
                                (shape<C>::size == width || is_number<C>);
};
template <class A, class B, class C>
using only_vector =
    metal::enable_if_t<find_vector<A, B, C>::mixed,
                       vec<typename find_vector<A, B, C>::element, find_vector<A, B, C>::width>>;

}  // namespace openmps_detail
}  // namespace msl
