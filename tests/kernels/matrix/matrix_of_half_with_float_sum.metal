#include <metal_simdgroup_matrix>
using namespace metal;

kernel void product(device const half* a, device const half* b, device float* c, device half* d) {
  simdgroup_half8x8 left, right, narrow;
  simdgroup_matrix<float, 8, 8> sum = make_filled_simdgroup_matrix<float, 8, 8>(0.5f);
  simdgroup_load(left, a);
  simdgroup_load(right, b);
  simdgroup_multiply_accumulate(sum, left, right, sum);
  simdgroup_multiply(narrow, left, right);
  simdgroup_store(sum, c);
  simdgroup_store(narrow, d);
}
