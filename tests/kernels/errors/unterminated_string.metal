#include <metal_stdlib>
template <typename T> kernel void f(device T* out) { out[0] = 1; }
template [[host_name("f)]] kernel void f<int>(device int*);
