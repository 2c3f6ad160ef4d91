#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// 16x16 of a 16xK product through threadgroup memory, one 8x8 tile to a simdgroup.
kernel void gemm(device const half* a, device const half* b, device float* c, constant uint& depth,
                 uint t [[thread_index_in_threadgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup half left[16 * 8];
  threadgroup half right[8 * 16];
  const uint row = simdgroup / 2 * 8, column = simdgroup % 2 * 8;
  simdgroup_float8x8 sum(0.0f);
  for (uint k = 0; k < depth; k += 8) {
    left[t] = a[t / 8 * depth + k + t % 8];
    right[t] = b[(k + t / 16) * 16 + t % 16];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_half8x8 x, y;
    simdgroup_load(x, left + row * 8, 8);
    simdgroup_load(y, right + column, 16);
    simdgroup_multiply_accumulate(sum, x, y, sum);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  simdgroup_store(sum, c, 16, ulong2(column, row));
}
