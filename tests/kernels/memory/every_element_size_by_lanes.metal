#include <metal_stdlib>
using namespace metal;

struct Three { uchar a, b, c; };

kernel void sizes(device const char* a, device const short* b, device const int* c,
                  device const long* d, device const Three* e, device long* out, device Three* copies,
                  uint i [[thread_position_in_grid]]) {
  const Three t = e[i];
  out[i] = a[i] + b[i] * 2 + c[i] * 3l + d[i] + t.a + t.b + t.c + simd_sum(1);
  copies[i] = {t.c, t.b, uchar(t.a + 1)};
}
