#include <metal_stdlib>
using namespace metal;

// The last threadgroup to finish adds up what the others left.
kernel void total(device const uint* in, device uint* partial, device atomic_uint* finished,
                  device uint* out, uint i [[thread_position_in_grid]],
                  uint t [[thread_index_in_threadgroup]],
                  uint group [[threadgroup_position_in_grid]],
                  uint groups [[threadgroups_per_grid]]) {
  threadgroup uint is_last;
  const uint sum = simd_sum(in[i]);
  if (t == 0) {
    partial[group] = sum;
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    is_last = atomic_fetch_add_explicit(finished, 1u, memory_order_relaxed) == groups - 1;
  }
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  if (is_last && t == 0) {
    uint all = 0;
    for (uint k = 0; k < groups; ++k) all += ((volatile device uint*)partial)[k];
    *out = all;
  }
}
