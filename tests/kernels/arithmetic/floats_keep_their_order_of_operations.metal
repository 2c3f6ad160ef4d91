#include <metal_stdlib>
using namespace metal;

// Products of d, e and f are exact: a product and a sum have one result, fused or not.
kernel void order(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
  const float a = in[6 * i], b = in[6 * i + 1], c = in[6 * i + 2];
  const float d = in[6 * i + 3], e = in[6 * i + 4], f = in[6 * i + 5];
  out[6 * i] = (a + b) + c;
  out[6 * i + 1] = a + (b + c);
  out[6 * i + 2] = d * e + c;
  out[6 * i + 3] = fma(a, b, c);
  out[6 * i + 4] = a / 3.0f * 3.0f + (b - b) + c * 0.0f;
  out[6 * i + 5] = d * e + f * e;
}
