#include <metal_stdlib>
using namespace metal;

kernel void f(device float* out, uint i [[thread_position_in_grid]]) {
  flaot x = 3;
  out[i] = x;
}
