#include <metal_stdlib>
using namespace metal;

kernel void f(device float* out, float4 i [[thread_position_in_grid]]) {
  out[0] = i.x;
}
