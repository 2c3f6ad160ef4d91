#include <metal_stdlib>
using namespace metal;

kernel void cases(device const uchar* which, device int* out, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
  int r = 0;
  switch (which[i]) {
    case 0: r = simd_sum(1); break;
    case 1: r = simd_sum(10);  // falls through
    case 2: r += simd_sum(100); break;
    case 5: out[i] = -simd_sum(1); return;
    default: r = simd_max(int(lane));
  }
  out[i] = r + simd_sum(10000);
}
