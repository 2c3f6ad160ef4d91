#include <metal_stdlib>
using namespace metal;

kernel void operate(device atomic_int* out, device const int* in,
                    uint i [[thread_position_in_grid]]) {
  const int v = in[i];
  atomic_fetch_add_explicit(&out[0], v, memory_order_relaxed);
  atomic_fetch_sub_explicit(&out[1], v, memory_order_relaxed);
  atomic_fetch_min_explicit(&out[2], v, memory_order_relaxed);
  atomic_fetch_max_explicit(&out[3], v, memory_order_relaxed);
  atomic_fetch_and_explicit(&out[4], v | 3, memory_order_relaxed);
  atomic_fetch_or_explicit(&out[5], v & 0xff00, memory_order_relaxed);
  atomic_fetch_xor_explicit(&out[6], v, memory_order_relaxed);
}
