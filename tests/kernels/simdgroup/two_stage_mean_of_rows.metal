#include <metal_stdlib>
using namespace metal;

kernel void centre(device const float* in, device float* out, constant uint& length,
                   uint row [[threadgroup_position_in_grid]],
                   uint t [[thread_position_in_threadgroup]],
                   uint size [[threads_per_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]],
                   uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float partial[32];
  device const float* x = in + row * length;
  float sum = 0;
  for (uint k = t; k < length; k += size) sum += x[k];
  sum = simd_sum(sum);
  if (lane == 0) partial[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sum = simd_sum(lane < simdgroups ? partial[lane] : 0.0f);
  for (uint k = t; k < length; k += size) out[row * length + k] = x[k] - sum / float(length);
}
