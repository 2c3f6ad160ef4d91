// The inner loops of products in half precision: numbers of 16 bits become float32 in registers,
// products are added in float32. On every processor in the same order, so that results are the
// same: a product of two such numbers is exact in float32, with or without a fused multiply-add.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

namespace openmps::half {

// Some rows of float32, each `stride` after the one before.
struct Rows {
  const float* data;
  int64_t stride;
  int64_t count;
};

// The loops for one dtype on this processor.
struct Loops {
  void (*widen)(const uint16_t* from, float* to, int64_t count);
  void (*narrow)(const float* from, uint16_t* to, int64_t count);
  // The sum over i of a[i] * b[i].
  float (*dot)(const uint16_t* a, const uint16_t* b, int64_t length);
  // out[m][n]: the sum over i of x[m][i] * w[n][i], for rows of w that lie `stride` apart. Rows of
  // x are followed by zeros up to a multiple of kLanes.
  void (*dots)(Rows x, const uint16_t* w, int64_t stride, int64_t rows, int64_t length, float* out,
               int64_t out_stride);
  // out[m][n]: the sum over i of x[m][i] * w[i][n], for rows of w that lie `stride` apart.
  void (*sum_of_rows)(Rows x, const uint16_t* w, int64_t stride, int64_t length, int64_t columns,
                      float* out, int64_t out_stride);
};
inline constexpr int64_t kLanes = 16;

inline int64_t padded(int64_t length) { return (length + kLanes - 1) / kLanes * kLanes; }

// Of float16 or bfloat16.
const Loops& loops(c10::ScalarType type);

}  // namespace openmps::half
