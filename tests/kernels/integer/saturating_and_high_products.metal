#include <metal_stdlib>
using namespace metal;

kernel void wide(device const int* a, device const int* b, device int* out,
                 uint i [[thread_position_in_grid]]) {
  const int x = a[i], y = b[i];
  device int* o = out + 14 * i;
  o[0] = addsat(x, y);
  o[1] = subsat(x, y);
  o[2] = mulhi(x, y);
  o[3] = int(mulhi(uint(x), uint(y)));
  o[4] = hadd(x, y);
  o[5] = rhadd(x, y);
  o[6] = int(absdiff(x, y));
  o[7] = madhi(x, y, 3);
  o[8] = madsat(x, y, 3);
  o[9] = int(addsat(uint(x), uint(y)));
  o[10] = int(subsat(uint(x), uint(y)));
  o[11] = addsat(char(x), char(y));
  o[12] = int(subsat(ushort(x), ushort(y)));
  o[13] = mul24(x >> 9, y >> 9);
}
