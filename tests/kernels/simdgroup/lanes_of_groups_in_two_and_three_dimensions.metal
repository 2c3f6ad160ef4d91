#include <metal_stdlib>
using namespace metal;

kernel void lanes(device uint* out, uint3 at [[thread_position_in_grid]],
                  uint3 size [[threads_per_grid]], uint lane [[thread_index_in_simdgroup]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]],
                  uint t [[thread_index_in_threadgroup]]) {
  device uint* o = out + 4 * ((at.z * size.y + at.y) * size.x + at.x);
  o[0] = lane + 100 * simdgroup;
  o[1] = t;
  o[2] = simd_sum(1u);
  o[3] = simd_broadcast_first(at.x + 100 * at.y + 10000 * at.z);
}
