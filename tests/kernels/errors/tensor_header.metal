#include <metal_stdlib>
#include <metal_tensor>
using namespace metal;

kernel void f(device float* out, uint i [[thread_position_in_grid]]) { out[i] = 1; }
