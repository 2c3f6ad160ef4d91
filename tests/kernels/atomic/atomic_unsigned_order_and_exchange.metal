#include <metal_stdlib>
using namespace metal;

kernel void operate(device atomic<uint>* out, device const uint* in, device uint* seen,
                    uint i [[thread_position_in_grid]]) {
  atomic_fetch_min_explicit(&out[0], in[i], memory_order_relaxed);
  atomic_fetch_max_explicit(&out[1], in[i], memory_order_relaxed);
  // Every thread's mark is handed to exactly one other thread, or stays: whose, nobody knows.
  seen[i] = atomic_exchange_explicit(&out[2], i + 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&out[3], seen[i], memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_device);
  if (i == 0) {
    uint stayed = atomic_exchange_explicit(&out[2], 0u, memory_order_relaxed);
    atomic_fetch_add_explicit(&out[3], stayed, memory_order_relaxed);
    atomic_store_explicit(&out[4], 77u, memory_order_relaxed);
  }
  seen[i] = 0;
}
