#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void f(device T* out) { out[0] = 1; }
template [[host_name("g_float")]] kernel void g<float>(device float*);
