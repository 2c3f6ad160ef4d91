#include <metal_stdlib>
using namespace metal;

// Threads past `limit` leave before the loop; the others meet at its barrier.
kernel void walk(device int* out, constant uint& limit, constant uint& rounds,
                 uint t [[thread_index_in_threadgroup]]) {
  threadgroup int ring[256];
  ring[t] = int(t);
  if (t >= limit) return;
  int sum = 0;
  for (uint round = 0; round < rounds; ++round) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int neighbour = ring[(t + 1) % limit];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ring[t] = neighbour;
    sum = sum * 3 + neighbour;
  }
  out[t] = sum;
}
