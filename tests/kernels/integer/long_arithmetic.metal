#include <metal_stdlib>
using namespace metal;

kernel void wide(device const long* a, device const long* b, device long* out,
                 uint i [[thread_position_in_grid]]) {
  const long x = a[i], y = b[i];
  device long* o = out + 8 * i;
  o[0] = x * y;
  o[1] = x / y;
  o[2] = x % y;
  o[3] = long(ulong(x) / ulong(y));
  o[4] = x >> (y & 63);
  o[5] = long(ulong(x) >> (ulong(y) & 63ul));
  o[6] = min(x, y) ^ max(x, long(7)) ^ abs(y);
  o[7] = mulhi(x, y);
}
