#include <metal_stdlib>
using namespace metal;

kernel void compare(device const int* in, device int* out, uint i [[thread_position_in_grid]]) {
  const int v = in[i];
  // Would be `true` if overflow could not happen.
  out[i] = v + 1 > v;
}
