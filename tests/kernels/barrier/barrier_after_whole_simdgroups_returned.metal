#include <metal_stdlib>
using namespace metal;

kernel void leave(device int* out, uint t [[thread_index_in_threadgroup]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup int line[160];
  line[t] = int(t) + 1;
  if (simdgroup == 1 || simdgroup == 3) return;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = line[159 - t];
  if (simdgroup == 4) return;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  line[t] = -1;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] += line[t ^ 1];
}
