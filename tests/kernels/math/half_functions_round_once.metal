#include <metal_stdlib>
using namespace metal;

kernel void halves(device const half* in, device half* out, uint i [[thread_position_in_grid]],
                   uint count [[threads_per_grid]]) {
  const half x = in[i];
  out[i] = sqrt(x);
  out[count + i] = x * x + x;
  out[2 * count + i] = fma(x, x, x);
  out[3 * count + i] = exp(x);
  out[4 * count + i] = x / 3.0h;
  out[5 * count + i] = half(float(x) / 3);
  out[6 * count + i] = floor(x) + max(x, 1.0h);
}
