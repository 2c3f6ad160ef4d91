#include <metal_stdlib>
using namespace metal;

kernel void image(device float* out, uint2 at [[thread_position_in_grid]],
                  uint2 size [[threads_per_grid]]) {
  out[at.y * size.x + at.x] = float(at.x) / float(size.x) + float(at.y);
}
