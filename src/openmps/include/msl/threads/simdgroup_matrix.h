// 8x8 matrices spread over a simdgroup, two elements to a lane (lanes.h says which). Products are
// computed in float and rounded once.
#pragma once

#include "simd.h"

namespace msl {
namespace metal {

template <class T, int Columns, int Rows = Columns>
struct simdgroup_matrix {
  static_assert(Columns == 8 && Rows == 8, "simdgroup matrices are 8x8");
  using storage_type = vec<T, 2>;
  storage_type openmps_pair;

  simdgroup_matrix() = default;
  // A diagonal matrix.
  OPENMPS_INLINE explicit simdgroup_matrix(T value) {
    const unsigned lane = openmps_lane();
    const unsigned row = ((lane >> 2) & 4u) | ((lane >> 1) & 3u);
    const unsigned column = ((lane >> 1) & 4u) | ((lane << 1) & 2u);
    openmps_pair.x = row == column ? value : T(0);
    openmps_pair.y = row == column + 1 ? value : T(0);
  }
  OPENMPS_INLINE storage_type& thread_elements() { return openmps_pair; }
  OPENMPS_INLINE const storage_type& thread_elements() const { return openmps_pair; }
};

using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <class T, int Columns, int Rows = Columns>
OPENMPS_INLINE simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(
    openmps_detail::same_t<T> value) {
  simdgroup_matrix<T, Columns, Rows> result;
  result.openmps_pair = vec<T, 2>(value, value);
  return result;
}
template <class T, int Columns, int Rows = Columns>
OPENMPS_INLINE simdgroup_matrix<T, Columns, Rows> make_diagonal_simdgroup_matrix(
    openmps_detail::same_t<T> value) {
  return simdgroup_matrix<T, Columns, Rows>(value);
}

template <class T>
OPENMPS_INLINE void simdgroup_load(simdgroup_matrix<T, 8, 8>& matrix, const T* source,
                                   ulong elements_per_row = 8, ulong2 origin = ulong2(0),
                                   bool transpose = false) {
  const T* const from = source + origin.y * elements_per_row + origin.x;
  auto& pair = matrix.openmps_pair;
  if constexpr (sizeof(T) == 4) {
    pair.x = openmps_matrix_load_f32(from, elements_per_row, transpose, 0);
    pair.y = openmps_matrix_load_f32(from, elements_per_row, transpose, 1);
  } else {
    pair.x = __builtin_bit_cast(T, openmps_matrix_load_u16(from, elements_per_row, transpose, 0));
    pair.y = __builtin_bit_cast(T, openmps_matrix_load_u16(from, elements_per_row, transpose, 1));
  }
}
template <class T>
OPENMPS_INLINE void simdgroup_store(simdgroup_matrix<T, 8, 8> matrix, T* target,
                                    ulong elements_per_row = 8, ulong2 origin = ulong2(0),
                                    bool transpose = false) {
  T* const to = target + origin.y * elements_per_row + origin.x;
  const auto& pair = matrix.openmps_pair;
  if constexpr (sizeof(T) == 4) {
    openmps_matrix_store_f32(pair.x, pair.y, to, elements_per_row, transpose);
  } else {
    openmps_matrix_store_u16(__builtin_bit_cast(ushort, pair.x), __builtin_bit_cast(ushort, pair.y),
                             to, elements_per_row, transpose);
  }
}

template <class D, class A, class B, class C>
OPENMPS_INLINE void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& result,
                                                  const simdgroup_matrix<A, 8, 8>& a,
                                                  const simdgroup_matrix<B, 8, 8>& b,
                                                  const simdgroup_matrix<C, 8, 8>& c) {
  const float a0 = float(a.openmps_pair.x), a1 = float(a.openmps_pair.y);
  const float b0 = float(b.openmps_pair.x), b1 = float(b.openmps_pair.y);
  const float c0 = float(c.openmps_pair.x), c1 = float(c.openmps_pair.y);
#ifdef __CUDACC_RTC__
  // Both elements at once, and 16-bit floats on tensor cores.
  openmps_nvidia::pair sum;
  if constexpr (openmps_nvidia::has_tensor_cores<A, B, half, bfloat>) {
    sum = openmps_nvidia::matrix_multiply_packed<is_same_v<A, bfloat>>(
        __builtin_bit_cast(unsigned, a.openmps_pair), __builtin_bit_cast(unsigned, b.openmps_pair),
        {c0, c1});
  } else {
    sum = openmps_nvidia::matrix_multiply({a0, a1}, {b0, b1}, {c0, c1});
  }
  result.openmps_pair = vec<D, 2>(D(sum.first), D(sum.second));
#else
  const float first = openmps_matrix_multiply_f32(a0, a1, b0, b1, c0, 0);
  const float second = openmps_matrix_multiply_f32(a0, a1, b0, b1, c1, 1);
  result.openmps_pair = vec<D, 2>(D(first), D(second));
#endif
}
template <class D, class A, class B>
OPENMPS_INLINE void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& result,
                                       const simdgroup_matrix<A, 8, 8>& a,
                                       const simdgroup_matrix<B, 8, 8>& b) {
  simdgroup_multiply_accumulate(result, a, b, make_filled_simdgroup_matrix<float, 8, 8>(0.0f));
}

template <class T>
OPENMPS_INLINE simdgroup_matrix<T, 8, 8> operator*(const simdgroup_matrix<T, 8, 8>& a,
                                                   const simdgroup_matrix<T, 8, 8>& b) {
  simdgroup_matrix<T, 8, 8> result;
  simdgroup_multiply(result, a, b);
  return result;
}
#define OPENMPS_MATRIX(op)                                                                       \
  template <class T>                                                                             \
  OPENMPS_INLINE simdgroup_matrix<T, 8, 8> operator op(simdgroup_matrix<T, 8, 8> a,              \
                                                       const simdgroup_matrix<T, 8, 8>& b) {     \
    a.openmps_pair op## = b.openmps_pair;                                                        \
    return a;                                                                                    \
  }                                                                                              \
  template <class T>                                                                             \
  OPENMPS_INLINE simdgroup_matrix<T, 8, 8>& operator op##=(simdgroup_matrix<T, 8, 8>& a,         \
                                                           const simdgroup_matrix<T, 8, 8>& b) { \
    a.openmps_pair op## = b.openmps_pair;                                                        \
    return a;                                                                                    \
  }
#define OPENMPS_MATRIX_SCALE(op)                                                              \
  template <class T>                                                                          \
  OPENMPS_INLINE simdgroup_matrix<T, 8, 8> operator op(simdgroup_matrix<T, 8, 8> a,           \
                                                       openmps_detail::same_t<T> scale) {     \
    a.openmps_pair op## = vec<T, 2>(scale, scale);                                            \
    return a;                                                                                 \
  }                                                                                           \
  template <class T>                                                                          \
  OPENMPS_INLINE simdgroup_matrix<T, 8, 8>& operator op##=(simdgroup_matrix<T, 8, 8>& a,      \
                                                           openmps_detail::same_t<T> scale) { \
    a.openmps_pair op## = vec<T, 2>(scale, scale);                                            \
    return a;                                                                                 \
  }
OPENMPS_MATRIX(+)
OPENMPS_MATRIX(-)
OPENMPS_MATRIX_SCALE(*)
OPENMPS_MATRIX_SCALE(/)
#undef OPENMPS_MATRIX
#undef OPENMPS_MATRIX_SCALE
template <class T>
OPENMPS_INLINE simdgroup_matrix<T, 8, 8> operator*(openmps_detail::same_t<T> scale,
                                                   const simdgroup_matrix<T, 8, 8>& a) {
  return a * scale;
}
template <class T>
OPENMPS_INLINE simdgroup_matrix<T, 8, 8> operator-(simdgroup_matrix<T, 8, 8> a) {
  a.openmps_pair = -a.openmps_pair;
  return a;
}
template <class T>
OPENMPS_INLINE simdgroup_matrix<T, 8, 8>& operator*=(simdgroup_matrix<T, 8, 8>& a,
                                                     const simdgroup_matrix<T, 8, 8>& b) {
  return a = a * b;
}

}  // namespace metal
}  // namespace msl
