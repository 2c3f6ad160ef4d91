#include <metal_stdlib>
using namespace metal;

kernel void f(device float* out, uint i [[thread_position_in_grid]]) {
  double x = 1;
  out[i] = float(x);
}
