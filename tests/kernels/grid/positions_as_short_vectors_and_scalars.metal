#include <metal_stdlib>
using namespace metal;

kernel void positions(device uint* out, ushort2 at [[thread_position_in_grid]],
                      ushort3 t [[thread_position_in_threadgroup]],
                      ushort group [[threadgroup_position_in_grid]],
                      ushort2 size [[threads_per_threadgroup]], uint2 grid [[threads_per_grid]],
                      ushort3 groups [[threadgroups_per_grid]],
                      ushort index [[thread_index_in_threadgroup]],
                      ushort lane [[thread_index_in_simdgroup]],
                      ushort simdgroup [[simdgroup_index_in_threadgroup]],
                      ushort width [[threads_per_simdgroup]],
                      ushort simdgroups [[simdgroups_per_threadgroup]],
                      ushort quad [[quadgroup_index_in_threadgroup]],
                      uint most [[dispatch_simdgroups_per_threadgroup]]) {
  device uint* o = out + 8 * (at.y * grid.x + at.x);
  o[0] = at.x + 100 * at.y;
  o[1] = t.x + 100 * t.y + 10000 * t.z;
  o[2] = group;
  o[3] = size.x + 100 * size.y;
  o[4] = groups.x + 100 * groups.y + 10000 * groups.z;
  o[5] = index + 1000 * quad;
  o[6] = lane + 100 * simdgroup;
  o[7] = width + 100 * simdgroups + 10000 * most;
}
