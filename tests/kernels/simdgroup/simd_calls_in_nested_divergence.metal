#include <metal_stdlib>
using namespace metal;

static int depth_sum(int v, int depth) {
  return simd_sum(v) * 10 + depth;
}

kernel void nest(device int* out, uint lane [[thread_index_in_simdgroup]],
                 uint i [[thread_position_in_grid]]) {
  int r = depth_sum(1, 0);
  if (lane & 1) {
    r += depth_sum(1, 1) * 1000;
    if (lane & 2) {
      r += depth_sum(1, 2) * 7;
      if (lane & 4) {
        r -= depth_sum(int(lane), 3);
      } else {
        r ^= depth_sum(int(lane), 4);
      }
    }
    r += depth_sum(2, 5);
  }
  out[i] = r + depth_sum(1, 6);
}
