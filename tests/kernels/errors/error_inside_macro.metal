#include <metal_stdlib>
using namespace metal;

#define STORE(p, k) \
  p[k] = undefined_thing + 1;

kernel void f(device float* out, uint i [[thread_position_in_grid]]) {
  out[i] = 0;
  STORE(out, i)
}
