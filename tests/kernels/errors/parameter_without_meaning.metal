#include <metal_stdlib>
using namespace metal;

kernel void f(device float* out, float scale, uint i [[thread_position_in_grid]]) {
  out[i] = scale;
}
