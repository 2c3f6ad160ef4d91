#include <metal_simdgroup_matrix>
using namespace metal;

// Which two elements a lane holds is what attention kernels rely on.
kernel void layout(device const float* in, device float2* held, device float* out,
                   ushort lane [[thread_index_in_simdgroup]]) {
  simdgroup_matrix<float, 8, 8> m;
  simdgroup_load(m, in);
  held[lane] = float2(m.thread_elements()[0], m.thread_elements()[1]);
  m.thread_elements()[1] *= 10;
  reinterpret_cast<thread float2&>(m.thread_elements()) += float2(1, 0);
  simdgroup_store(m, out);
}
