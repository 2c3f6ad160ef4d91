#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

kernel void product(device const float* a, device const float* b, device float* c) {
  simdgroup_float8x8 left, right, sum;
  simdgroup_load(left, a, 8);
  simdgroup_load(right, b, 8);
  simdgroup_load(sum, c, 8);
  simdgroup_multiply_accumulate(sum, left, right, sum);
  simdgroup_store(sum, c, 8);
}
