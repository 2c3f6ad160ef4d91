#include <metal_stdlib>
using namespace metal;

kernel void rounds(device const uchar* work, device uint* out, uint t [[thread_index_in_threadgroup]]) {
  threadgroup uint cells[96];
  cells[t] = t;
  for (uint round = 0; round < 4; ++round) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint v = cells[(t + round * 7 + 1) % 96];
    for (uint k = 0; k < uint(work[t]) % (3 + round); ++k) {
      if (v % 5 == 0) { v += 3; continue; }
      v = v * 3 + k;
      if (v > 10000) { v %= 977; break; }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    cells[t] = v;
  }
  out[t] = cells[t];
}
