#include <metal_stdlib>
using namespace metal;

kernel void best(device const float* in, device atomic_ulong* out,
                 uint i [[thread_position_in_grid]]) {
  const ulong key = (ulong(as_type<uint>(in[i])) << 32) | i;
  atomic_max_explicit(out, key, memory_order_relaxed);
}
