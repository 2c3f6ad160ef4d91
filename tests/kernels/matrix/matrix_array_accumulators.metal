#include <metal_simdgroup_matrix>
using namespace metal;

kernel void rows(device const float* a, device const float* b, device float* c) {
  simdgroup_float8x8 sums[2][2];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.f);
  for (uint k = 0; k < 3; ++k) {
    simdgroup_float8x8 x[2], y[2];
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      simdgroup_load(x[i], a, 24, ulong2(8 * k, 8 * i));
      simdgroup_load(y[i], b, 16, ulong2(8 * i, 8 * k));
    }
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) simdgroup_multiply_accumulate(sums[i][j], x[i], y[j], sums[i][j]);
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) simdgroup_store(sums[i][j], c, 16, ulong2(8 * j, 8 * i));
}
