#include <metal_stdlib>
using namespace metal;

template <typename T>
T pair_of(float a, float b) {
  return T(a, b);
}

kernel void build(device float4* out, device int4* whole) {
  const float2 xy = float2(1, 2);
  const float3 xyz = float3(xy, 3);
  out[0] = float4(xyz, 4);
  out[1] = float4(0.5, xyz);
  out[2] = float4(xy, xy.yx);
  out[3] = float4(1, xy, 9);
  out[4] = float4(7);
  out[5] = {1.5f, 2.5f, 3.5f, 4.5f};
  out[6] = float4(int4(1, -2, 3, -4)) / 2;
  out[7] = (float4){8, 7, 6, 5};
  out[8] = float4(half4(0.1h, 1.0h, 2.0h, 3.0h));
  out[9] = float4(pair_of<float2>(3, 4), float2(pair_of<int2>(5.9, -6.9)));
  float4 later;
  later.xyz = float3(1, 1, 2);
  later.w = 3;
  out[10] = later;
  out[11] = 5;
  whole[0] = int4(float4(1.9, -1.9, 2.5, -0.5));
  whole[1] = int4(uchar4(255, 128, 1, 0));
  whole[2] = int4(char4(uchar4(255, 128, 1, 0)));
  whole[3] = int4(bool4(float4(0, 0.1, -3, NAN)));
}
