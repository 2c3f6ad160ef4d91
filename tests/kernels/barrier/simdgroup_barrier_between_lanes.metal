#include <metal_stdlib>
using namespace metal;

// Each simdgroup has its own row and never waits for the others.
kernel void rows(device uint* out, uint t [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint row [[simdgroup_index_in_threadgroup]]) {
  threadgroup uint cells[4][32];
  cells[row][lane] = lane + 100 * row;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  uint sum = 0;
  for (uint k = 0; k < lane; ++k) sum += cells[row][k];
  simdgroup_barrier(mem_flags::mem_threadgroup);
  cells[row][31 - lane] = sum;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = cells[row][lane];
}
