#include <metal_stdlib>
using namespace metal;

kernel void order(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
  const float a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  out[5 * i] = (a + b) + c;
  out[5 * i + 1] = a + (b + c);
  out[5 * i + 2] = a * b + c;
  out[5 * i + 3] = fma(a, b, c);
  out[5 * i + 4] = a / 3.0f * 3.0f + (b - b) + c * 0.0f;
}
