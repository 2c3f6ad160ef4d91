#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void f(device T* out, constant T& by) { out[0] = by; }
template <typename T>
kernel void f(device T* out) { out[0] = 1; }
template [[host_name("f_float")]] kernel void f<float>(device int*);
