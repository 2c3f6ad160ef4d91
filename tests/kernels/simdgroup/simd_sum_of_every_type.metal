#include <metal_stdlib>
using namespace metal;

kernel void sums(device const int* in, device long* out, device float* wide,
                 uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const int v = in[i];
  const long a = simd_sum(v);
  const long b = simd_sum(uint(v));
  const long c = simd_sum(short(v));
  const long d = simd_sum(ushort(v));
  const long e = simd_sum(char(v));
  const long f = simd_sum(uchar(v));
  const long g = simd_sum(long(v) << 20);
  const long h = long(simd_sum(ulong(uint(v))));
  const float x = simd_sum(float(v) * 0.25f);
  const half y = simd_sum(half(v & 7));
  const float z = float(simd_sum(bfloat(v & 3)));
  if (lane == 0) {
    device long* o = out + i / 32 * 8;
    o[0] = a; o[1] = b; o[2] = c; o[3] = d; o[4] = e; o[5] = f; o[6] = g; o[7] = h;
    device float* w = wide + i / 32 * 3;
    w[0] = x; w[1] = float(y); w[2] = z;
  }
}
