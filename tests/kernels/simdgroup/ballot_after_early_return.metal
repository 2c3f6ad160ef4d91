#include <metal_stdlib>
using namespace metal;

kernel void remaining(device uint* out, uint t [[thread_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]]) {
  if (lane == 0 || lane == 31) return;
  simd_vote vote = simd_ballot(lane % 2 == 1);
  out[t * 3] = uint(simd_vote::vote_t(vote));
  if (lane % 5 == 0) return;
  out[t * 3 + 1] = popcount(uint(ulong(simd_active_threads_mask())));
  out[t * 3 + 2] = simd_shuffle_xor(lane, 0) + simd_sum(lane);
}
