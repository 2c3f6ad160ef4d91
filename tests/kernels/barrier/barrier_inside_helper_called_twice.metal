#include <metal_stdlib>
using namespace metal;

template <typename T>
T exchanged(threadgroup T* scratch, T value, uint t, uint other) {
  threadgroup_barrier(mem_flags::mem_threadgroup);
  scratch[t] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return scratch[other];
}

kernel void swap_twice(device float* out, uint t [[thread_index_in_threadgroup]]) {
  threadgroup float scratch[128];
  float value = float(t) * 0.5;
  value = exchanged(scratch, value, t, t ^ 1u);
  value += 100.0;
  out[t] = exchanged(scratch, value, t, 127 - t);
}
