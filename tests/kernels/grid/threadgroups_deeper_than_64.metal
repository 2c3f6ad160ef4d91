#include <metal_stdlib>
using namespace metal;

kernel void deep(device uint* out, uint3 at [[thread_position_in_grid]],
                 uint3 size [[threads_per_grid]]) {
  out[(at.z * size.y + at.y) * size.x + at.x] += at.x + 10 * at.y + 100 * at.z;
}
