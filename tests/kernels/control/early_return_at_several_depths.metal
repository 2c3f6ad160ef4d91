#include <metal_stdlib>
using namespace metal;

kernel void leave(device const int* in, device int* out, uint i [[thread_position_in_grid]]) {
  const int v = in[i];
  out[i] = 1;
  if (v < 0) return;
  for (int k = 0; k < v; ++k) {
    if (k == 7) {
      out[i] = 100 + k;
      return;
    }
    switch (v - k) {
      case 3:
        if (v % 2) {
          out[i] = 200 + k;
          return;
        }
        break;
      default:
        out[i] += 2;
    }
  }
  out[i] += simd_sum(1) > 0 ? 5 : 0;
}
