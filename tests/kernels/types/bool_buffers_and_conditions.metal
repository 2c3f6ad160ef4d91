#include <metal_stdlib>
using namespace metal;

kernel void logic(device const bool* in, device bool* out, device int* counts,
                  uint i [[thread_position_in_grid]]) {
  const bool a = in[i], b = in[(i + 1) % 40];
  out[i] = a && !b;
  int c = a + b;
  c += a ? 10 : 20;
  if (a ^ b) c += 100;
  if (!(a | b)) c += 1000;
  counts[i] = c;
}
