#include <metal_stdlib>
using namespace metal;

kernel void halves(device const half* a, device const half* b, device half* out,
                   device float* wide, uint i [[thread_position_in_grid]]) {
  const half x = a[i], y = b[i];
  device half* o = out + 6 * i;
  o[0] = x + y;
  o[1] = x * y;
  o[2] = x - y * 2;
  o[3] = x / y;
  half z = x;
  z += 1;
  z *= y;
  o[4] = -z;
  o[5] = i % 2 ? x : 0.5h;
  wide[i] = x * 0.1 + float(y);
}
