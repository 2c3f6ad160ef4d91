#include <metal_stdlib>
using namespace metal;

// Packs the chosen elements: one atomic for a simdgroup, places by the votes below each lane.
kernel void pack(device const int* in, device atomic_uint* count, device int* out,
                 uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const bool wanted = in[i] > 0;
  const uint votes = uint(ulong(simd_ballot(wanted)));
  uint base = 0;
  if (lane == 0) base = atomic_fetch_add_explicit(count, popcount(votes), memory_order_relaxed);
  base = simd_broadcast(base, 0);
  if (wanted) out[base + popcount(votes & ((1u << lane) - 1))] = in[i];
}
