#include <metal_stdlib>
using namespace metal;

kernel void tree(device const uint* in [[buffer(0)]], device uint* sums [[buffer(1)]],
                 uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]],
                 uint size [[threads_per_threadgroup]]) {
  threadgroup uint partial[1024];
  partial[t] = in[i];
  for (uint reach = 512; reach > 0; reach /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < reach && t + reach < size) partial[t] += partial[t + reach];
  }
  if (t == 0) sums[group] = partial[0];
}
