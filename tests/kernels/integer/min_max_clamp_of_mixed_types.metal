#include <metal_stdlib>
using namespace metal;

kernel void mixed(device int* out, device const int* in, uint i [[thread_position_in_grid]]) {
  const int v = in[i];
  out[6 * i] = min(v, 10);
  out[6 * i + 1] = max(short(v), short(-5));
  out[6 * i + 2] = clamp(v, -3, 3);
  out[6 * i + 3] = abs(v);
  out[6 * i + 4] = median3(v, 4, -4);
  out[6 * i + 5] = max3(v, 2, 0) - min3(v, 1, 3);
}
