#include <metal_stdlib>
using namespace metal;

// The loop's end is decided by a value in threadgroup memory.
kernel void sort(device int* data, uint t [[thread_index_in_threadgroup]],
                 uint size [[threads_per_threadgroup]]) {
  threadgroup int keys[64];
  threadgroup bool moved;
  keys[t] = data[t];
  do {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) moved = false;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint parity = 0; parity < 2; ++parity) {
      if (t % 2 == parity && t + 1 < size && keys[t] > keys[t + 1]) {
        const int kept = keys[t];
        keys[t] = keys[t + 1];
        keys[t + 1] = kept;
        moved = true;
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  } while (moved);
  data[t] = keys[t];
}
