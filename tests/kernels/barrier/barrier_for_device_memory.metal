#include <metal_stdlib>
using namespace metal;

kernel void pass_on(device int* line, device int* out, uint t [[thread_index_in_threadgroup]],
                    uint i [[thread_position_in_grid]], uint size [[threads_per_threadgroup]]) {
  line[i] = int(i) * 10;
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  out[i] = line[i - t + (t + 13) % size];
}
