#include <metal_stdlib>
#define ADD(a, b) ((a) + (b))
kernel void f(device float* out) {
  out[0] = ADD(1);
}
