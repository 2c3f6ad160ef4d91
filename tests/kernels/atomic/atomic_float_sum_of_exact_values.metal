#include <metal_stdlib>
using namespace metal;

kernel void sum(device atomic_float* out, device float* plain, device const float* in,
                uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup atomic<float> local;
  if (t == 0) atomic_store_explicit(&local, 0.0f, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&local, in[i], memory_order_relaxed);
  atomic_fetch_sub_explicit((device atomic_float*)&plain[i % 3], in[i], memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) {
    const float all = atomic_load_explicit(&local, memory_order_relaxed);
    atomic_fetch_add_explicit(out, all, memory_order_relaxed);
  }
}
