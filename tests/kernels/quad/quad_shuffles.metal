#include <metal_stdlib>
using namespace metal;

kernel void moves(device const float* in, device float* out, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_quadgroup]], uint quad [[quadgroup_index_in_threadgroup]],
                  uint quads [[quadgroups_per_threadgroup]]) {
  const float v = in[i];
  device float* o = out + 9 * i;
  o[0] = quad_shuffle(v, 3 - lane);
  o[1] = quad_shuffle_xor(v, 1);
  o[2] = quad_shuffle_rotate_down(v, 1);
  o[3] = quad_shuffle_rotate_up(v, 1);
  o[4] = quad_broadcast(v, 2);
  o[5] = quad_shuffle_and_fill_down(v, -1.0f, 2);
  o[6] = quad_shuffle_and_fill_up(v, -2.0f, 1);
  o[7] = float(quad * 1000 + quads);
  o[8] = quad_broadcast_first(v) + (quad_is_first() ? 10.0f : 0.0f);
}
