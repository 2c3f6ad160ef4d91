#include <metal_stdlib>
using namespace metal;

kernel void scans(device const int* in, device int* whole, device float* real,
                  uint i [[thread_position_in_grid]]) {
  const int v = in[i];
  whole[4 * i] = simd_prefix_inclusive_sum(v);
  whole[4 * i + 1] = simd_prefix_exclusive_sum(v);
  whole[4 * i + 2] = simd_prefix_inclusive_product(v);
  whole[4 * i + 3] = simd_prefix_exclusive_product(v);
  const float x = float(v % 4);
  real[4 * i] = simd_prefix_inclusive_sum(x);
  real[4 * i + 1] = simd_prefix_exclusive_sum(x);
  real[4 * i + 2] = simd_prefix_inclusive_product(x > 0 ? 2.0f : 0.5f);
  real[4 * i + 3] = float(simd_prefix_exclusive_product(half(x > 0 ? 1 : -1)));
}
