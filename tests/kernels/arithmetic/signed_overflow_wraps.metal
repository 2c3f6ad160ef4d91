#include <metal_stdlib>
using namespace metal;

kernel void wrap(device const int* in, device int* out, uint i [[thread_position_in_grid]]) {
  const int v = in[i];
  int sum = v;
  for (int k = 0; k < 5; ++k) sum = sum * 31 + v;
  out[3 * i] = sum;
  out[3 * i + 1] = v + INT_MAX;
  out[3 * i + 2] = -v - 2;
}
