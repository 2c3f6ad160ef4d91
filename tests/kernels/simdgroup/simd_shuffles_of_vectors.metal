#include <metal_stdlib>
using namespace metal;

kernel void vectors(device float4* out, device int2* pairs, device uchar4* bytes,
                    uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const float4 v = float4(i, i * 2, i * 3, 0.5);
  out[i] = simd_shuffle_xor(v, 1) + simd_broadcast(v, 31);
  pairs[i] = simd_sum(int2(lane, -1)) + simd_shuffle(int2(lane, i), 31 - lane);
  bytes[i] = simd_shuffle_rotate_up(uchar4(lane, lane + 1, 250 + lane, 7), 1);
}
