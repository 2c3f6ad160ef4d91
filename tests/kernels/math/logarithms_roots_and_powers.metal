#include <metal_stdlib>
using namespace metal;

kernel void positive(device const float* in, device float* out, uint i [[thread_position_in_grid]],
                     uint count [[threads_per_grid]]) {
  const float x = in[i];
  const float r[] = {log(x), log2(x), log10(x), sqrt(x), rsqrt(x), acosh(1 + x), pow(x, 1.5f),
                     powr(x, 0.3f), exp(log(x)), divide(1.0f, x), fmod(x, 0.7f), length(float2(x, 1))};
  for (uint k = 0; k < 12; ++k) out[count * k + i] = r[k];
}
