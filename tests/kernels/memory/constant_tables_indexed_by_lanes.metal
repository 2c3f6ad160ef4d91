#include <metal_stdlib>
using namespace metal;

constant ulong powers[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
constant half curve[5] = {0.0h, 0.5h, 0.75h, 0.875h, 1.0h};
constant struct { uchar from, to; } moves[3] = {{1, 2}, {2, 3}, {3, 1}};

kernel void look(device const uchar* in, device ulong* out, uint i [[thread_position_in_grid]]) {
  const uchar v = in[i];
  ulong r = powers[v % 8];
  r += ulong(curve[v % 5] * 8);
  for (uint k = 0; k < v % 3u; ++k) r += moves[(v + k) % 3].to * 1000000000ul;
  out[i] = r + simd_sum(0u);
}
