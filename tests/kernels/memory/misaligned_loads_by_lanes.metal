#include <metal_stdlib>
using namespace metal;

kernel void load(device const half* in, device float* out, uint i [[thread_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]]) {
  threadgroup half shared[4 * 32 + 1];
  for (uint k = 0; k < 4; ++k) shared[4 * lane + k + 1] = in[4 * lane + k];
  simdgroup_barrier(mem_flags::mem_threadgroup);
  const half4 a = *(const device half4*)(in + lane + 1);
  const half4 b = *(threadgroup half4*)(shared + 1 + 4 * lane);
  out[i] = simd_sum(float(a.x + a.w)) + float(b.y);
}
