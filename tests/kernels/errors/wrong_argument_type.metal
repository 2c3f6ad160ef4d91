#include <metal_stdlib>
using namespace metal;

struct Pair { float a, b; };
float total(Pair p) { return p.a + p.b; }

kernel void f(device float* out, uint i [[thread_position_in_grid]]) {
  out[i] = total(out);
}
