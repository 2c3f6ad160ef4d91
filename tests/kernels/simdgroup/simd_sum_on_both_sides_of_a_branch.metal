#include <metal_stdlib>
using namespace metal;

kernel void both(device const int* in, device int* out, uint i [[thread_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]]) {
  int result;
  if (lane % 3 == 0) {
    result = simd_sum(in[i]);
  } else if (lane % 3 == 1) {
    result = -simd_sum(in[i] * 2);
    if (lane > 20) result += simd_max(int(lane));
  } else {
    result = simd_prefix_inclusive_sum(in[i]);
  }
  out[i] = result;
}
