#include <metal_stdlib>
using namespace metal;

// The quotient by zero is no value to rely on: only that the others come out.
kernel void divide_all(device const int* a, device const int* b, device int* out,
                       uint i [[thread_position_in_grid]]) {
  int q = a[i] / b[i], r = a[i] % b[i];
  uint u = uint(a[i]) / uint(b[i]);
  short s = short(a[i]);
  s /= short(b[i]);
  long l = long(a[i]);
  l %= long(b[i]);
  const int4 v = int4(a[i]) / int4(b[i], 0, 1, 2);
  if (b[i] == 0) q = r = 0, u = 0, s = 0, l = 0;
  out[6 * i] = q; out[6 * i + 1] = r; out[6 * i + 2] = int(u); out[6 * i + 3] = s;
  out[6 * i + 4] = int(l); out[6 * i + 5] = v.z + v.w;
}
