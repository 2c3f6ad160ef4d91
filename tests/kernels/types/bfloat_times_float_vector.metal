#include <metal_stdlib>
using namespace metal;

// Overloads for a scalar and for a vector: a bfloat goes to the scalar.
static float twice(float x) { return x * 2; }
static float2 twice(float2 x) { return x * 3; }

kernel void mixed(device const bfloat* in, device float* out, uint i [[thread_position_in_grid]]) {
  bfloat x = in[i];
  float4 v = x * float4(1, 2, 3, 4);
  v += x;
  v = v / x - x;
  out[2 * i] = v.x + v.y + v.z + v.w;
  out[2 * i + 1] = twice(x);
}
