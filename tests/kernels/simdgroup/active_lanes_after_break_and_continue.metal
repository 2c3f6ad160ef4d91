#include <metal_stdlib>
using namespace metal;

kernel void masks(device uint* out, uint lane [[thread_index_in_simdgroup]]) {
  for (uint k = 0; k < 4; ++k) {
    if (lane % 4 == k) continue;
    if (lane > 8 * (k + 1)) break;
    out[lane * 4 + k] = uint(ulong(simd_active_threads_mask()));
  }
}
