#include <metal_stdlib>
#include <metal_integer>
using namespace metal;

kernel void bits(device const uint* in, device uint* out, uint i [[thread_position_in_grid]]) {
  const uint v = in[i];
  device uint* o = out + 13 * i;
  o[0] = popcount(v);
  o[1] = clz(v);
  o[2] = ctz(v);
  o[3] = reverse_bits(v);
  o[4] = rotate(v, 7u);
  o[5] = extract_bits(v, 5, 9);
  o[6] = insert_bits(v, 0x2a5u, 11, 10);
  o[7] = uint(extract_bits(int(v), 3, 4));
  o[8] = clz(ushort(v));
  o[9] = uint(popcount(ulong(v) << 7 | 1));
  o[10] = uint(ctz(uchar(v)));
  o[11] = rotate(uchar(v), uchar(3));
  o[12] = uint(clz(long(int(v))));
}
