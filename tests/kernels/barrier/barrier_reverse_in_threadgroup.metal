#include <metal_stdlib>
using namespace metal;

kernel void reverse(device const int* in, device int* out, uint i [[thread_position_in_grid]],
                    uint t [[thread_index_in_threadgroup]], uint size [[threads_per_threadgroup]]) {
  threadgroup int shared[1024];
  shared[t] = in[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[size - 1 - t];
}
