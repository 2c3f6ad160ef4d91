#include <metal_stdlib>
using namespace metal;

kernel void scan(device const ushort* in, device uint* out, uint i [[thread_position_in_grid]],
                 ushort lane [[thread_index_in_simdgroup]],
                 ushort simdgroup [[simdgroup_index_in_threadgroup]],
                 ushort size [[threads_per_threadgroup]]) {
  threadgroup uint totals[32];
  const uint v = in[i];
  uint sum = simd_prefix_exclusive_sum(v);
  if (lane == 31) totals[simdgroup] = sum + v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup == 0) {
    const uint mine = lane < (size + 31) / 32 ? totals[lane] : 0;
    totals[lane] = simd_prefix_exclusive_sum(mine);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = sum + totals[simdgroup];
}
