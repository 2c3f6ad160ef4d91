#include <metal_stdlib>
using namespace metal;

// Kernels cast whatever pointer they have; nothing may assume 16 bytes.
kernel void load(device const float* in, device float4* out, device float* away,
                 device const uchar* bytes, device uint* words, uint i [[thread_position_in_grid]]) {
  const device float4* p = (const device float4*)(in + 1 + i);
  out[i] = p[0] * 2.0f;
  *(device float2*)(away + 1 + 3 * i) = float2(i, -float(i));
  words[i] = *(device const uint*)(bytes + 3 * i + 1);
  out[i].w += float(((device const packed_float3*)in)[i].y) + float(*(device const half*)(bytes + 1)) * 0;
}
