#include <metal_stdlib>
using namespace metal;

kernel void f(device float4* out, device int4* in, uint i [[thread_position_in_grid]]) {
  out[i] = in[i];
}
