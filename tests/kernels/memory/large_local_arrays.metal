#include <metal_stdlib>
using namespace metal;

// 40 KB of each thread's own, so 1.3 MB of a simdgroup's: more than a stack had once, and each
// frame is larger than the guard below it.
kernel void large_local_arrays(device int* out, device const int* place,
                               uint i [[thread_position_in_grid]]) {
  threadgroup int last[1];
  int mine[10000];
  for (int k = 0; k < 10000; k++) mine[k] = 0;
  for (int k = 0; k < 64; k++) mine[(place[i] * 157 + k * 151) % 10000] = (int)i + k;
  if (i == 255) last[0] = mine[(place[i] * 157) % 10000];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  int sum = 0;
  for (int k = 0; k < 10000; k += 1) sum += mine[k];
  out[i] = sum + last[0];
}
