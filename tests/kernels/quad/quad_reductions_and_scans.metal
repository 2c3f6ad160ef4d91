#include <metal_stdlib>
using namespace metal;

kernel void reduce(device const int* in, device int* out, uint i [[thread_position_in_grid]]) {
  const int v = in[i];
  device int* o = out + 9 * i;
  o[0] = quad_sum(v);
  o[1] = quad_product(v);
  o[2] = quad_min(v);
  o[3] = quad_max(v);
  o[4] = quad_and(v);
  o[5] = quad_or(v);
  o[6] = quad_xor(v);
  o[7] = quad_prefix_inclusive_sum(v);
  o[8] = quad_prefix_exclusive_product(v);
}
