#include <metal_stdlib>
using namespace metal;

kernel void private_sort(device const float* in, device float* out, device uint* ranks,
                         uint i [[thread_position_in_grid]]) {
  float keys[9];
  uchar order[9];
  for (uint k = 0; k < 9; ++k) {
    keys[k] = in[9 * i + k];
    order[k] = uchar(k);
  }
  for (int a = 1; a < 9; ++a) {
    const float key = keys[a];
    const uchar which = order[a];
    int b = a - 1;
    while (b >= 0 && keys[b] > key) {
      keys[b + 1] = keys[b];
      order[b + 1] = order[b];
      --b;
    }
    keys[b + 1] = key;
    order[b + 1] = which;
  }
  for (uint k = 0; k < 9; ++k) out[9 * i + k] = keys[k];
  ranks[i] = order[0] * 10 + order[8] + simd_sum(0u);
}
