#include <metal_stdlib>
using namespace metal;

kernel void operate(device const float4x4* in, device float4* out, device float* numbers,
                    device half* halves, uint i [[thread_position_in_grid]]) {
  const float4x4 m = in[i];
  const float4 v = float4(1, 2, 3, 4);
  out[6 * i] = m * v;
  out[6 * i + 1] = v * m;
  out[6 * i + 2] = (m * m)[1];
  out[6 * i + 3] = transpose(m)[2];
  out[6 * i + 4] = (m + 2.0f * m - m)[3];
  float3x2 r = float3x2(float2(1, 2), float2(3, 4), float2(5, 6));
  r[1].y = m[0][0];
  out[6 * i + 5] = float4(r * float3(1, 1, 1), r[2][0], r.columns[1].y);
  numbers[2 * i] = determinant(float2x2(m[0].xy, m[1].xy));
  numbers[2 * i + 1] = determinant(float3x3(m[0].xyz, m[1].xyz, m[2].xyz));
  half2x4 h = half2x4(1.0h);
  h[1] = half4(m[2]);
  for (int k = 0; k < 8; ++k) halves[8 * i + k] = h[k / 4][k % 4];
}
