#include <metal_stdlib>
using namespace metal;

// The condition differs between threadgroups, never within one.
kernel void choose(device int* out, uint i [[thread_position_in_grid]],
                   uint t [[thread_index_in_threadgroup]],
                   uint group [[threadgroup_position_in_grid]]) {
  threadgroup int line[64];
  line[t] = int(i);
  int found = -7;
  if (group % 3 == 0) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    found = line[63 - t];
  } else if (group % 3 == 1) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    found = line[(t + 40) % 64] * 2;
    threadgroup_barrier(mem_flags::mem_none);
  }
  out[i] = found;
}
