#include <metal_stdlib>
using namespace metal;

kernel void leaving(device const uint* rounds, device uint* out, uint i [[thread_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]]) {
  uint seen = 0;
  for (uint k = 0; k < rounds[i]; ++k) {
    seen += simd_sum(1u) * (k + 1);
  }
  out[i] = seen * 100 + simd_sum(1u);
}
