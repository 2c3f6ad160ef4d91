#include <metal_stdlib>
using namespace metal;

kernel void bits(device const uint* in, device uint* out, device ulong* wide,
                 uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const uint v = in[i];
  const uint results[5] = {simd_and(v), simd_or(v), simd_xor(v), simd_product(v | 1u),
                           uint(simd_xor(ushort(v)))};
  const ulong w = (ulong(v) << 32) | ~v;
  const ulong wide_results[3] = {simd_and(w), simd_xor(w), simd_product(w | 1)};
  for (uint k = lane; k < 5; k += 32) out[i / 32 * 5 + k] = results[k];
  if (lane < 3) wide[i / 32 * 3 + lane] = wide_results[lane];
}
