#include <metal_stdlib>
using namespace metal;

kernel void f(device float* out, constant float* in, uint i [[thread_position_in_grid]]) {
  in[i] = out[i];
}
