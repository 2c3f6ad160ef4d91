#include <metal_stdlib>
using namespace metal;

// One simdgroup runs in lock-step; kernels in the wild rely on it.
kernel void fold(device uint* out, uint lane [[thread_index_in_simdgroup]],
                 uint t [[thread_index_in_threadgroup]],
                 uint row [[simdgroup_index_in_threadgroup]]) {
  threadgroup volatile uint cells[2][64];
  cells[row][lane] = lane * lane;
  cells[row][lane + 32] = 0;
  simdgroup_barrier(mem_flags::mem_none);
  for (uint reach = 16; reach > 0; reach >>= 1) {
    const uint other = cells[row][lane + reach];
    simdgroup_barrier(mem_flags::mem_none);
    cells[row][lane] += other;
    simdgroup_barrier(mem_flags::mem_none);
  }
  if (lane == 0) out[row] = cells[row][0];
}
