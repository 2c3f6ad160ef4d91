#include <metal_stdlib>
using namespace metal;
/* never ends
kernel void f(device float* out) { out[0] = 1; }
