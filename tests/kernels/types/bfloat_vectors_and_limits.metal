#include <metal_stdlib>
using namespace metal;

kernel void brains(device const bfloat4* in, device bfloat4* out, device float* facts,
                   uint i [[thread_position_in_grid]]) {
  const bfloat4 v = in[i];
  out[i] = v + v * bfloat4(bfloat(2.0f));
  const float4 f = float4(v);
  facts[4 * i] = f.x + f.w;
  facts[4 * i + 1] = float(numeric_limits<bfloat>::max());
  facts[4 * i + 2] = float(bfloat2(v.x, v.y).y);
  facts[4 * i + 3] = v.z ? 1 : 0;
}
