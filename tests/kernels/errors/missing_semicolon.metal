#include <metal_stdlib>
using namespace metal;

kernel void f(device float* out, uint i [[thread_position_in_grid]]) {
  float x = 1.0
  out[i] = x;
}
