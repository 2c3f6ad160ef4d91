#include <metal_stdlib>
using namespace metal;

kernel void cases(device const int* in, device int* out, uint i [[thread_position_in_grid]]) {
  int r = 1;
  for (int k = 0; k < 3; ++k) {
    switch (in[i] + k) {
      case -1:
      case 4: r += 10; break;
      case 2: r *= 3;
      case 3: r += 1; continue;
      case 1000000: r = 0;
    }
    r *= 2;
  }
  out[i] = r + simd_sum(r) * 0;
}
