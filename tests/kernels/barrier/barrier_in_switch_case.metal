#include <metal_stdlib>
using namespace metal;

kernel void pick(device uint* out, constant int& what, uint t [[thread_index_in_threadgroup]]) {
  threadgroup uint line[96];
  line[t] = t * t;
  switch (what) {
    case 0:
      threadgroup_barrier(mem_flags::mem_threadgroup);
      out[t] = line[95 - t];
      break;
    case 1:
      line[t] += 5;
      // falls through
    case 2:
      threadgroup_barrier(mem_flags::mem_threadgroup);
      out[t] = line[(t + 1) % 96];
      break;
    default:
      out[t] = 1;
  }
}
