// metal_geometric and metal_relational.
#pragma once

#include "math.h"

namespace msl {
namespace metal {

template <class T, int N>
OPENMPS_INLINE constexpr T dot(const vec<T, N>& a, const vec<T, N>& b) {
  T sum = static_cast<T>(a[0] * b[0]);
  for (int i = 1; i < N; ++i) sum += static_cast<T>(a[i] * b[i]);
  return sum;
}
template <class T>
OPENMPS_INLINE constexpr vec<T, 3> cross(const vec<T, 3>& a, const vec<T, 3>& b) {
  return vec<T, 3>(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
template <class T, int N>
OPENMPS_INLINE T length_squared(const vec<T, N>& a) {
  return dot(a, a);
}
template <class T, int N>
OPENMPS_INLINE T length(const vec<T, N>& a) {
  return sqrt(dot(a, a));
}
template <class T, int N>
OPENMPS_INLINE T distance_squared(const vec<T, N>& a, const vec<T, N>& b) {
  return length_squared(a - b);
}
template <class T, int N>
OPENMPS_INLINE T distance(const vec<T, N>& a, const vec<T, N>& b) {
  return length(a - b);
}
template <class T, int N>
OPENMPS_INLINE vec<T, N> normalize(const vec<T, N>& a) {
  return a * rsqrt(dot(a, a));
}
template <class T, int N>
OPENMPS_INLINE vec<T, N> faceforward(const vec<T, N>& n, const vec<T, N>& incident,
                                     const vec<T, N>& reference) {
  return dot(reference, incident) < T(0) ? n : -n;
}
template <class T, int N>
OPENMPS_INLINE vec<T, N> reflect(const vec<T, N>& incident, const vec<T, N>& n) {
  return incident - n * T(T(2) * dot(n, incident));
}
template <class T, int N>
OPENMPS_INLINE vec<T, N> refract(const vec<T, N>& incident, const vec<T, N>& n, T eta) {
  const T cosine = dot(n, incident);
  const T k = T(1) - eta * eta * (T(1) - cosine * cosine);
  return k < T(0) ? vec<T, N>(T(0)) : incident * eta - n * T(eta * cosine + sqrt(k));
}
OPENMPS_BOTH(distance)
OPENMPS_BOTH(distance_squared)
OPENMPS_BOTH(dot)
OPENMPS_BOTH(length)
OPENMPS_BOTH(length_squared)
OPENMPS_BOTH(normalize)

#define OPENMPS_TEST_1(name, ...)                                                        \
  OPENMPS_INLINE constexpr bool name(float x) { return __VA_ARGS__; }                    \
  OPENMPS_INLINE constexpr bool name(half x) { return name(float(x)); }                  \
  OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr bool name(T x) { return name(float(x)); } \
  OPENMPS_LIFT_TEST_1(name)
OPENMPS_TEST_1(isnan, x != x)
OPENMPS_TEST_1(isinf, __builtin_fabsf(x) == INFINITY)
OPENMPS_TEST_1(isfinite, __builtin_fabsf(x) < INFINITY)
OPENMPS_TEST_1(signbit, (__builtin_bit_cast(unsigned, x) >> 31) != 0)
OPENMPS_INLINE constexpr bool isnormal(float x) {
  return __builtin_fabsf(x) >= FLT_MIN && __builtin_fabsf(x) < INFINITY;
}
OPENMPS_INLINE constexpr bool isnormal(half x) {
  return __builtin_fabsf(float(x)) >= 0x1p-14f && isfinite(x);
}
OPENMPS_LIFT_TEST_1(isnormal)
#undef OPENMPS_TEST_1

OPENMPS_INLINE constexpr bool isunordered(float a, float b) { return a != a || b != b; }
OPENMPS_INLINE constexpr bool isunordered(half a, half b) { return a != a || b != b; }
OPENMPS_INLINE constexpr bool isordered(float a, float b) { return a == a && b == b; }
OPENMPS_INLINE constexpr bool isordered(half a, half b) { return a == a && b == b; }
OPENMPS_LIFT_TEST_2(isunordered)
OPENMPS_LIFT_TEST_2(isordered)

OPENMPS_INLINE constexpr bool any(bool x) { return x; }
OPENMPS_INLINE constexpr bool all(bool x) { return x; }
template <int N>
OPENMPS_INLINE constexpr bool any(const vec<bool, N>& v) {
  bool result = false;
  for (int i = 0; i < N; ++i) result |= v[i];
  return result;
}
template <int N>
OPENMPS_INLINE constexpr bool all(const vec<bool, N>& v) {
  bool result = true;
  for (int i = 0; i < N; ++i) result &= v[i];
  return result;
}

// select(a, b, c) is c ? b : a. A vector of integers chooses by its top bits.
template <class A, class B,
          enable_if_t<openmps_detail::is_number<A> && openmps_detail::is_number<B>, int> = 0>
OPENMPS_INLINE constexpr auto select(A a, B b, bool c) {
  if constexpr (is_same_v<A, B>) {
    return c ? b : a;
  } else {
    using T = decltype(a + b);
    return c ? static_cast<T>(b) : static_cast<T>(a);
  }
}
template <class T, int N, class C>
OPENMPS_INLINE constexpr vec<T, N> select(const vec<T, N>& a, const vec<T, N>& b,
                                          const vec<C, N>& c) {
  vec<T, N> result{};
  for (int i = 0; i < N; ++i) {
    if constexpr (is_same_v<C, bool>) {
      result[i] = c[i] ? b[i] : a[i];
    } else {
      result[i] = static_cast<make_signed_t<C>>(c[i]) < 0 ? b[i] : a[i];
    }
  }
  return result;
}
template <class T, int N>
OPENMPS_INLINE constexpr vec<T, N> select(const vec<T, N>& a, const vec<T, N>& b, bool c) {
  return c ? b : a;
}
template <class T, int N, class A, class C, OPENMPS_IF_NUMBER(A)>
OPENMPS_INLINE constexpr vec<T, N> select(const vec<T, N>& a, A b, const vec<C, N>& c) {
  return select(a, vec<T, N>(b), c);
}
template <class T, int N, class A, class C, OPENMPS_IF_NUMBER(A)>
OPENMPS_INLINE constexpr vec<T, N> select(A a, const vec<T, N>& b, const vec<C, N>& c) {
  return select(vec<T, N>(a), b, c);
}
template <class A, class B, class C, int N,
          enable_if_t<openmps_detail::is_number<A> && openmps_detail::is_number<B>, int> = 0>
OPENMPS_INLINE constexpr auto select(A a, B b, const vec<C, N>& c) {
  using T = decltype(select(a, b, true));
  return select(vec<T, N>(a), vec<T, N>(b), c);
}

}  // namespace metal
}  // namespace msl
