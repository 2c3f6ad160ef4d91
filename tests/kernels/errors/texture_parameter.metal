#include <metal_stdlib>
using namespace metal;

kernel void f(texture2d<float, access::read> image [[texture(0)]], device float4* out,
              uint2 i [[thread_position_in_grid]]) {
  out[i.x] = image.read(i);
}
