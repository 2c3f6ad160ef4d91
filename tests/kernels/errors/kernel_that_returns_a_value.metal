#include <metal_stdlib>
using namespace metal;

kernel int f(device float* out) {
  out[0] = 1;
  return 1;
}
