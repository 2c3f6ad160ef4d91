#include <metal_stdlib>
using namespace metal;

kernel void operate(device const int4* a, device const int4* b, device int4* out,
                    uint i [[thread_position_in_grid]]) {
  int4 x = a[i];
  const int4 y = b[i];
  device int4* o = out + 12 * i;
  o[0] = x + y;
  o[1] = x * y - 3;
  o[2] = x / 7;
  o[3] = x % y;
  o[4] = (x & y) | (x ^ 0x55);
  o[5] = ~x;
  o[6] = -x;
  o[7] = x << 3;
  o[8] = x >> (y & 15);
  o[9] = x++;
  o[9] += --x;  // apart: in one sum, either may come first
  x += 5; x -= y; x *= 2; x /= 3; x %= 100; x &= 0xff; x |= 1; x ^= y; x <<= 1; x >>= 2;
  o[10] = x;
  o[11] = clamp(x, -5, 5) + abs(y) + max(x, y) - min(x, 3) + int4(!(x == y));
}
