#include <metal_stdlib>
#include <metal_atomic>
using namespace metal;

kernel void histogram(device const uchar* in, device atomic_uint* bins,
                      uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                      uint size [[threads_per_threadgroup]]) {
  threadgroup atomic_uint local[256];
  for (uint k = t; k < 256; k += size) atomic_store_explicit(&local[k], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&local[in[i]], 1u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = t; k < 256; k += size) {
    const uint count = atomic_load_explicit(&local[k], memory_order_relaxed);
    if (count > 0) atomic_fetch_add_explicit(bins + k, count, memory_order_relaxed);
  }
}
