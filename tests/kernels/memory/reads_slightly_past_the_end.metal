#include <metal_stdlib>
using namespace metal;

// Metal allows it, and real kernels do it; what is read there must not matter.
kernel void past(device const float* in, device float* out, constant uint& length,
                 uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup float shared[256];
  const float4 v = *(device const float4*)(in + 4 * i);
  shared[t] = v.x;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint k = 0; k < 4; ++k)
    if (4 * i + k < length) sum += v[k];
  const float beyond = in[length + 8 * t];
  out[i] = sum + (i > 100000 ? beyond : shared[t] * 0);
}
