#include <metal_stdlib>
using namespace metal;

kernel void brains(device const bfloat* a, device const bfloat* b, device bfloat* out,
                   device float* wide, uint i [[thread_position_in_grid]]) {
  const bfloat x = a[i], y = b[i];
  device bfloat* o = out + 6 * i;
  o[0] = x + y;
  o[1] = x * y;
  o[2] = bfloat(float(x) / 3.0);
  bfloat z = x;
  z += y;
  z *= bfloat(0.5f);
  o[3] = z;
  o[4] = i % 2 ? x : y;
  o[5] = x > y ? bfloat(1.0f) : bfloat(i);
  wide[i] = x * 0.25f + y + exp(float(y)) * 0;
}
