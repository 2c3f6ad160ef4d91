// float4x4 and its kin: C columns of R elements.
#pragma once

#include "packed.h"

namespace msl {
namespace openmps_vector {

template <class T, int C, int R>
struct matrix {
  using column = vec<T, R>;
  column columns[C];

  matrix() = default;
  // A scalar fills the diagonal.
  template <class A, OPENMPS_IF_NUMBER(A)>
  OPENMPS_INLINE explicit constexpr matrix(A value) : columns{} {
    for (int i = 0; i < C; ++i) {
      columns[i] = column(T(0));
      if (i < R) columns[i][i] = static_cast<T>(value);
    }
  }
  template <class U, metal::enable_if_t<!metal::is_same_v<U, T>, int> = 0>
  OPENMPS_INLINE explicit constexpr matrix(const matrix<U, C, R>& m) : columns{} {
    for (int i = 0; i < C; ++i) columns[i] = column(m[i]);
  }
  template <class... A, metal::enable_if_t<(sizeof...(A) > 1) && sizeof...(A) == C, int> = 0>
  OPENMPS_INLINE constexpr matrix(const A&... a) : columns{column(a)...} {}
  template <class... A,
            metal::enable_if_t<sizeof...(A) == C * R && (is_number<A> && ...), long> = 0>
  OPENMPS_INLINE constexpr matrix(A... a) : columns{} {
    const T all[] = {static_cast<T>(a)...};
    for (int i = 0; i < C * R; ++i) columns[i / R][i % R] = all[i];
  }

  OPENMPS_INLINE constexpr column& operator[](long i) { return columns[i]; }
  OPENMPS_INLINE constexpr const column& operator[](long i) const { return columns[i]; }

#define OPENMPS_ELEMENTWISE(op)                                                   \
  friend OPENMPS_INLINE constexpr matrix operator op(matrix a, const matrix& b) { \
    for (int i = 0; i < C; ++i) a[i] op## = b[i];                                 \
    return a;                                                                     \
  }                                                                               \
  OPENMPS_INLINE constexpr matrix& operator op##=(const matrix & b) { return *this = *this op b; }
#define OPENMPS_SCALED(op)                                            \
  friend OPENMPS_INLINE constexpr matrix operator op(matrix a, T s) { \
    for (int i = 0; i < C; ++i) a[i] op## = column(s);                \
    return a;                                                         \
  }                                                                   \
  OPENMPS_INLINE constexpr matrix& operator op##=(T s) { return *this = *this op s; }
  OPENMPS_ELEMENTWISE(+)
  OPENMPS_ELEMENTWISE(-)
  OPENMPS_SCALED(*)
  OPENMPS_SCALED(/)
#undef OPENMPS_SCALED
#undef OPENMPS_ELEMENTWISE
  friend OPENMPS_INLINE constexpr matrix operator*(T s, const matrix& a) { return a * s; }
  friend OPENMPS_INLINE constexpr matrix operator-(matrix a) {
    for (int i = 0; i < C; ++i) a[i] = -a[i];
    return a;
  }
  friend OPENMPS_INLINE constexpr column operator*(const matrix& m, const vec<T, C>& v) {
    column result = m[0] * v[0];
    for (int i = 1; i < C; ++i) result += m[i] * v[i];
    return result;
  }
  friend OPENMPS_INLINE constexpr vec<T, C> operator*(const vec<T, R>& v, const matrix& m) {
    vec<T, C> result{};
    for (int i = 0; i < C; ++i) {
      T sum = v[0] * m[i][0];
      for (int j = 1; j < R; ++j) sum += v[j] * m[i][j];
      result[i] = sum;
    }
    return result;
  }
  friend OPENMPS_INLINE constexpr bool operator==(const matrix& a, const matrix& b) {
    bool equal = true;
    for (int i = 0; i < C * R; ++i) equal &= a[i / R][i % R] == b[i / R][i % R];
    return equal;
  }
  friend OPENMPS_INLINE constexpr bool operator!=(const matrix& a, const matrix& b) {
    return !(a == b);
  }
};

template <class T, int K, int R, int C>
OPENMPS_INLINE constexpr matrix<T, C, R> operator*(const matrix<T, K, R>& a,
                                                   const matrix<T, C, K>& b) {
  matrix<T, C, R> result;
  for (int i = 0; i < C; ++i) result[i] = a * b[i];
  return result;
}

}  // namespace openmps_vector

namespace metal {

using openmps_vector::matrix;

template <class T, int C, int R>
OPENMPS_INLINE constexpr matrix<T, R, C> transpose(const matrix<T, C, R>& m) {
  matrix<T, R, C> result;
  for (int i = 0; i < C; ++i) {
    for (int j = 0; j < R; ++j) result[j][i] = m[i][j];
  }
  return result;
}

template <class T>
OPENMPS_INLINE constexpr T determinant(const matrix<T, 2, 2>& m) {
  return m[0][0] * m[1][1] - m[1][0] * m[0][1];
}
template <class T>
OPENMPS_INLINE constexpr T determinant(const matrix<T, 3, 3>& m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[2][1] * m[1][2]) -
         m[1][0] * (m[0][1] * m[2][2] - m[2][1] * m[0][2]) +
         m[2][0] * (m[0][1] * m[1][2] - m[1][1] * m[0][2]);
}
template <class T>
OPENMPS_INLINE constexpr T determinant(const matrix<T, 4, 4>& m) {
  T result = T(0);
  for (int skip = 0; skip < 4; ++skip) {
    matrix<T, 3, 3> minor;
    for (int i = 0, at = 0; i < 4; ++i) {
      if (i == skip) continue;
      minor[at++] = vec<T, 3>(m[i][1], m[i][2], m[i][3]);
    }
    const T term = m[skip][0] * determinant(minor);
    result = skip % 2 == 0 ? T(result + term) : T(result - term);
  }
  return result;
}

}  // namespace metal

namespace openmps_types {

#define OPENMPS_MATRIX_NAMES(T)                   \
  using T##2x2 = openmps_vector::matrix<T, 2, 2>; \
  using T##2x3 = openmps_vector::matrix<T, 2, 3>; \
  using T##2x4 = openmps_vector::matrix<T, 2, 4>; \
  using T##3x2 = openmps_vector::matrix<T, 3, 2>; \
  using T##3x3 = openmps_vector::matrix<T, 3, 3>; \
  using T##3x4 = openmps_vector::matrix<T, 3, 4>; \
  using T##4x2 = openmps_vector::matrix<T, 4, 2>; \
  using T##4x3 = openmps_vector::matrix<T, 4, 3>; \
  using T##4x4 = openmps_vector::matrix<T, 4, 4>;
OPENMPS_MATRIX_NAMES(float)
OPENMPS_MATRIX_NAMES(half)
OPENMPS_MATRIX_NAMES(bfloat)
#undef OPENMPS_MATRIX_NAMES

}  // namespace openmps_types
}  // namespace msl
