#include <metal_stdlib>
using namespace metal;

kernel void choose(device const int* a, device const int* b, device int* out,
                   uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup int shared[64];
  shared[t] = -a[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device const int* p = i % 3 == 0 ? a : b;
  if (i % 5 == 0) p += 2;
  threadgroup int* q = shared + (i * 7) % 64;
  device int* target = &out[63 - i];
  *target = *p + p[i % 4] * 1000 + *q;
}
