#include <metal_stdlib>
using namespace metal;

kernel void small(device const char* in, device int* out, uint i [[thread_position_in_grid]]) {
  const char c = in[i];
  const uchar u = uchar(c);
  short s = c;
  device int* o = out + 9 * i;
  o[0] = c + c;
  o[1] = char(c + c);
  o[2] = u << 4;
  o[3] = uchar(u << 4);
  o[4] = ~u;
  s *= 300;
  o[5] = s;
  o[6] = c >> 2;
  o[7] = u >> 2;
  uchar w = u;
  w += 200;
  w = -w;
  o[8] = w;
}
