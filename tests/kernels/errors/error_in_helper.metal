#include <metal_stdlib>
using namespace metal;

static float helper(float x) {
  return x.y;
}

kernel void f(device float* out, uint i [[thread_position_in_grid]]) { out[i] = helper(1); }
