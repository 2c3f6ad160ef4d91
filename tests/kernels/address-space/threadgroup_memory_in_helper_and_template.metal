#include <metal_stdlib>
using namespace metal;

// Each instance has its own storage; each call of one instance has the same.
template <typename T, uint N>
T last_of(T value, uint t) {
  threadgroup T cells[N];
  cells[t] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return cells[N - 1];
}

static uint turn(uint value, uint t) {
  threadgroup uint cells[64];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  cells[t] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return cells[63 - t];
}

kernel void use(device float* out, uint t [[thread_index_in_threadgroup]]) {
  const float a = last_of<float, 64>(float(t) * 2, t);
  const ushort b = last_of<ushort, 64>(ushort(t), t);
  const uint c = turn(turn(t * 3, t) + 1, t);
  out[t] = a + b + c;
}
