#include <metal_stdlib>
using namespace metal;

kernel void moves(device const float* in, device float* out, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
  const float v = in[i];
  const float down = simd_shuffle_down(v, 5), up = simd_shuffle_up(v, 3);
  device float* o = out + 7 * i;
  o[0] = lane < 27 ? down : -1;
  o[1] = lane >= 3 ? up : -1;
  o[2] = simd_shuffle_xor(v, 21);
  o[3] = simd_shuffle_rotate_down(v, 9);
  o[4] = simd_shuffle_rotate_up(v, 30);
  o[5] = simd_broadcast(v, 17);
  o[6] = simd_broadcast_first(v);
}
