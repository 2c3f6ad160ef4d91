#include <metal_stdlib>
using namespace metal;

kernel void positions(device uint* out, uint3 at [[thread_position_in_grid]],
                      uint3 t [[thread_position_in_threadgroup]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint3 size [[threads_per_threadgroup]], uint3 grid [[threads_per_grid]],
                      uint3 groups [[threadgroups_per_grid]],
                      uint3 whole [[dispatch_threads_per_threadgroup]],
                      uint index [[thread_index_in_threadgroup]]) {
  device uint* o = out + 8 * ((at.z * grid.y + at.y) * grid.x + at.x);
  o[0] = at.x + 100 * at.y + 10000 * at.z;
  o[1] = t.x + 100 * t.y + 10000 * t.z;
  o[2] = group.x + 100 * group.y + 10000 * group.z;
  o[3] = size.x + 100 * size.y + 10000 * size.z;
  o[4] = grid.x + 100 * grid.y + 10000 * grid.z;
  o[5] = groups.x + 100 * groups.y + 10000 * groups.z;
  o[6] = whole.x + 100 * whole.y + 10000 * whole.z;
  o[7] = index;
}
