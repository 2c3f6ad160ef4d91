#include <metal_stdlib>
using namespace metal;

kernel void shift(device const uint* counts, device int* out, device long* wide,
                  uint i [[thread_position_in_grid]]) {
  const uint c = counts[i];
  device int* o = out + 6 * i;
  o[0] = 3 << c;
  o[1] = -1000 >> c;
  o[2] = int(0x80000001u >> c);
  const int4 v = int4(5, 6, 7, -8) << int4(c);
  o[3] = v.x;
  o[4] = v.w;
  int s = 77;
  s <<= c;
  o[5] = s;
  wide[i] = (-5l << c) ^ long(1ul << (c + 64));
}
