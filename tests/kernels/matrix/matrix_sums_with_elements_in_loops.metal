#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// Sums that go round two loops, whose elements each lane changes on the way; one of them only in
// some rounds, one only in some simdgroups. A lone product at the end.
kernel void sums(device const float* a, device const float* b, device float* c,
                 constant uint& rounds, uint simdgroup [[simdgroup_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]]) {
  simdgroup_float8x8 first(0), second(2), third(0);
  for (uint outer = 0; outer < rounds; ++outer) {
    for (uint k = 0; k < 2; ++k) {
      simdgroup_float8x8 left, right, other;
      simdgroup_load(left, a + 64 * k, 8);
      simdgroup_load(right, b + 64 * k, 8);
      simdgroup_load(other, b + 64 * k, 8, ulong2(0), true);
      simdgroup_multiply_accumulate(first, left, right, first);
      simdgroup_multiply_accumulate(second, left, other, second);
      if (outer == 1) simdgroup_multiply_accumulate(third, right, left, third);
    }
    first.thread_elements()[0] += float(lane);
    if (simdgroup == 1) second.thread_elements()[1] *= 2.0f;
  }
  simdgroup_multiply_accumulate(third, first, second, third);
  simdgroup_store(first, c + 192 * simdgroup, 8);
  simdgroup_store(second, c + 192 * simdgroup + 64, 8);
  simdgroup_store(third, c + 192 * simdgroup + 128, 8);
}
