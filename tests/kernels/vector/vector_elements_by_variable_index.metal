#include <metal_stdlib>
using namespace metal;

kernel void rotate_elements(device const uint4* in, device uint4* out, device uint* sums,
                            uint i [[thread_position_in_grid]]) {
  uint4 v = in[i], w;
  for (uint k = 0; k < 4; ++k) w[(k + i) % 4] = v[k];
  w[i & 3] += 1000;
  out[i] = w;
  uint sum = 0;
  for (int k = 3; k >= 0; --k) sum = sum * 10 + v[k];
  sums[i] = sum;
}
