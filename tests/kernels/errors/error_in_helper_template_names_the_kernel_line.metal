#include <metal_stdlib>
using namespace metal;

template <typename T>
T helper(T x) {
  return x.y.z.w;
}

kernel void f(device float2* out, uint i [[thread_position_in_grid]]) { out[i] = helper(out[i]); }
