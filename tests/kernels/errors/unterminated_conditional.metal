#include <metal_stdlib>
#ifdef __METAL__
kernel void f(device float* out) { out[0] = 1; }
