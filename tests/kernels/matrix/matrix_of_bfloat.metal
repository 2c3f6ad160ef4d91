#include <metal_simdgroup_matrix>
using namespace metal;

kernel void product(device const bfloat* a, device const bfloat* b, device float* c) {
  simdgroup_matrix<bfloat, 8, 8> left, right;
  simdgroup_float8x8 sum;
  simdgroup_load(left, a);
  simdgroup_load(right, b, 8, ulong2(0, 0), true);
  simdgroup_multiply(sum, left, right);
  simdgroup_store(sum, c);
}
