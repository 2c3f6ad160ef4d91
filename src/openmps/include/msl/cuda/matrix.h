// 8x8 matrices spread over a warp: the functions of lanes.h, and the product.
#pragma once

#include "lanes.h"

namespace openmps_nvidia {

// The lane that holds columns 2 pair and 2 pair + 1 of `row` (lanes.h tells the layout).
OPENMPS_CUDA_INLINE unsigned matrix_lane(unsigned row, unsigned pair) {
  return ((row & 4u) << 2) | ((pair & 2u) << 2) | ((row & 3u) << 1) | (pair & 1u);
}
OPENMPS_CUDA_INLINE unsigned matrix_row(unsigned lane) {
  return ((lane >> 2) & 4u) | ((lane >> 1) & 3u);
}
OPENMPS_CUDA_INLINE unsigned matrix_column(unsigned lane) {
  return ((lane >> 1) & 4u) | ((lane << 1) & 2u);
}
OPENMPS_CUDA_INLINE unsigned long matrix_offset(unsigned element, unsigned long elements_per_row,
                                                bool transpose) {
  const unsigned row = matrix_row(lane()), column = matrix_column(lane()) + element;
  return transpose ? column * elements_per_row + row : row * elements_per_row + column;
}

template <class T>
OPENMPS_CUDA_INLINE T matrix_load(const void* base, unsigned long elements_per_row, bool transpose,
                                  unsigned element) {
  return static_cast<const T*>(base)[matrix_offset(element, elements_per_row, transpose)];
}
template <class T>
OPENMPS_CUDA_INLINE void matrix_store(T first, T second, void* base, unsigned long elements_per_row,
                                      bool transpose) {
  T* const to = static_cast<T*>(base);
  to[matrix_offset(0, elements_per_row, transpose)] = first;
  to[matrix_offset(1, elements_per_row, transpose)] = second;
}

struct pair {
  float first, second;
};

// c + a b, by fma in the order of k.
OPENMPS_CUDA_INLINE pair matrix_multiply(pair a, pair b, pair c) {
  const unsigned row = matrix_row(lane()), column_pair = matrix_column(lane()) / 2u;
#pragma unroll
  for (unsigned k = 0; k < 8; ++k) {
    const float left = shuffle(kAllLanes, k % 2 == 0 ? a.first : a.second, matrix_lane(row, k / 2));
    const unsigned source = matrix_lane(k, column_pair);
    c.first = ::fmaf(left, shuffle(kAllLanes, b.first, source), c.first);
    c.second = ::fmaf(left, shuffle(kAllLanes, b.second, source), c.second);
  }
  return c;
}

// The same on tensor cores, for a and b of 16-bit floats, packed. They want rows of four lanes
// each, and b by columns. A product is 16 rows high there; ours are the upper eight.
template <class A, class B, class Half, class Bfloat>
inline constexpr bool has_tensor_cores =
    __is_same(A, B) && ((__CUDA_ARCH__ >= 750 && __is_same(A, Half)) ||
                        (__CUDA_ARCH__ >= 800 && __is_same(A, Bfloat)));
template <bool IsBfloat>
OPENMPS_CUDA_INLINE pair matrix_multiply_packed(unsigned a, unsigned b, pair c) {
  const unsigned self = lane(), row = self / 4u, across = self % 4u;
  const unsigned here = matrix_lane(row, across);
  const unsigned left = shuffle(kAllLanes, a, here);
  const unsigned even = shuffle(kAllLanes, b, matrix_lane(2 * across, row / 2u));
  const unsigned odd = shuffle(kAllLanes, b, matrix_lane(2 * across + 1, row / 2u));
  const unsigned right = ::__byte_perm(even, odd, row % 2u == 0 ? 0x5410 : 0x7632);
  pair sum = {shuffle(kAllLanes, c.first, here), shuffle(kAllLanes, c.second, here)};
  float below_first = 0.0f, below_second = 0.0f;
  if constexpr (IsBfloat) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum.first), "+f"(sum.second), "+f"(below_first), "+f"(below_second)
        : "r"(left), "r"(0u), "r"(right));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum.first), "+f"(sum.second), "+f"(below_first), "+f"(below_second)
        : "r"(left), "r"(0u), "r"(right));
  }
  const unsigned back = matrix_row(self) * 4u + matrix_column(self) / 2u;
  return {shuffle(kAllLanes, sum.first, back), shuffle(kAllLanes, sum.second, back)};
}

}  // namespace openmps_nvidia

#define OPENMPS_CUDA_LANES extern "C" OPENMPS_CUDA_INLINE
#define OPENMPS_CUDA_MATRIX(suffix, type)                                                    \
  OPENMPS_CUDA_LANES type openmps_matrix_load_##suffix(                                      \
      const void* base, unsigned long elements_per_row, bool transpose, unsigned element) {  \
    return openmps_nvidia::matrix_load<type>(base, elements_per_row, transpose, element);    \
  }                                                                                          \
  OPENMPS_CUDA_LANES void openmps_matrix_store_##suffix(                                     \
      type first, type second, void* base, unsigned long elements_per_row, bool transpose) { \
    openmps_nvidia::matrix_store(first, second, base, elements_per_row, transpose);          \
  }
OPENMPS_CUDA_MATRIX(f32, float)
OPENMPS_CUDA_MATRIX(u16, unsigned short)
#undef OPENMPS_CUDA_MATRIX
#undef OPENMPS_CUDA_LANES
