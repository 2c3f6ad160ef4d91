#include <metal_stdlib>
using namespace metal;

kernel void scan(device int* data, uint t [[thread_index_in_threadgroup]],
                 uint size [[threads_per_threadgroup]]) {
  threadgroup int lines[2][1024];
  uint from = 0;
  lines[0][t] = data[t];
  for (uint reach = 1; reach < size; reach <<= 1) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint to = 1 - from;
    lines[to][t] = t >= reach ? lines[from][t] + lines[from][t - reach] : lines[from][t];
    from = to;
  }
  data[t] = lines[from][t];
}
