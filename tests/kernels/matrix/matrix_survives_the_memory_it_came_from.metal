#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// The matrices were loaded before what they lay in is written anew, by a store and by a matrix.
kernel void product(device const float* a, device float* c, device float* d,
                    uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float tile[2][64];
  for (uint i = lane; i < 64; i += 32) {
    tile[0][i] = a[i];
    tile[1][i] = a[64 + i];
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_float8x8 left, right, sum(1);
  simdgroup_load(left, tile[0], 8);
  simdgroup_load(right, tile[1], 8);
  tile[0][lane] = 100;
  simdgroup_store(sum, tile[1], 8);
  simdgroup_multiply_accumulate(sum, left, right, sum);
  simdgroup_store(sum, c, 8);
  simdgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = lane; i < 64; i += 32) d[i] = tile[0][i] + tile[1][i];
}
