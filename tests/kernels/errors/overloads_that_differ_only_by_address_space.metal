#include <metal_stdlib>
using namespace metal;

float get(device float* p) { return p[0]; }
float get(threadgroup float* p) { return -p[0]; }
kernel void f(device float* out) { out[0] = get(out); }
