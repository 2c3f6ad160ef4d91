#include <metal_stdlib>
using namespace metal;

kernel void mix_up(device float4* out, device float2* pairs) {
  float4 v = float4(1, 2, 3, 4);
  out[0] = v.wzyx;
  out[1] = v.xxyy;
  out[2] = v.bgra;
  out[3] = float4(v.zw, v.rg);
  v.xy = v.yx;
  out[4] = v;
  v.zw += 10;
  out[5] = v;
  v.wx *= float2(2, 3);
  out[6] = v;
  v.yzw = v.xyz;
  out[7] = v;
  v.rgba = v.abgr;
  out[8] = v;
  v.xz -= v.wy;
  out[9] = v;
  pairs[0] = float3(5, 6, 7).yz;
  pairs[1] = out[0].xz + pairs[0].yx;
  device float4* p = &out[10];
  p->xyzw = float4(4, 3, 2, 1);
  p->xw = p->yz;
  pairs[2] = (v + 1).xy;
  out[11] = float4(1, 2, 3, 4).wwww.xyzw;
}
