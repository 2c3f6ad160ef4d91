#include <metal_stdlib>
using namespace metal;

kernel void shared(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                   threadgroup int* first [[threadgroup(0)]],
                   threadgroup uchar* second [[threadgroup(1)]],
                   threadgroup float4* third [[threadgroup(3)]], uint i [[thread_position_in_grid]],
                   uint t [[thread_index_in_threadgroup]], uint size [[threads_per_threadgroup]]) {
  first[t] = in[i];
  second[t] = uchar(in[i]);
  third[t] = float4(in[i], 1, 2, 3);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint o = size - 1 - t;
  out[i] = first[o] * 3 + second[(t + 1) % size] + int(third[o].x + third[t].w);
}
