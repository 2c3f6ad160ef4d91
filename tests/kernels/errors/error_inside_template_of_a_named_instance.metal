#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void f(device T* out, uint i [[thread_position_in_grid]]) {
  out[i] = T(1).nothing;
}
template [[host_name("f_float4")]] kernel void f<float4>(device float4*, uint);
