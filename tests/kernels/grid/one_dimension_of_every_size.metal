#include <metal_stdlib>
using namespace metal;

kernel void count(device uint* out, uint i [[thread_position_in_grid]], uint n [[threads_per_grid]],
                  uint size [[threads_per_threadgroup]], uint groups [[threadgroups_per_grid]]) {
  out[i] = i + n * 3 + size * 5 + groups * 7;
}
