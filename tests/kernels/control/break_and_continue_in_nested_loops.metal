#include <metal_stdlib>
using namespace metal;

kernel void nested(device const int* in, device int* out, uint i [[thread_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
  const int v = in[i];
  int sum = 0;
  for (int a = 0; a < 10; ++a) {
    if (a == v % 4) continue;
    int inner = 0;
    for (int b = 0;; ++b) {
      if (b > v) break;
      if ((a + b) % 3 == 0) continue;
      inner += a * b;
      if (inner > 50) break;
    }
    sum += inner;
    if (sum > 150 + v) break;
  }
  out[i] = sum + simd_max(sum) * 1000;
}
