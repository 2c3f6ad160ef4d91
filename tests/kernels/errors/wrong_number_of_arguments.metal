#include <metal_stdlib>
using namespace metal;

kernel void f(device float* out, uint i [[thread_position_in_grid]]) {
  out[i] = clamp(1.0f, 2.0f);
}
