#include <metal_stdlib>
using namespace metal;

kernel void digits(device const uint* in, device uint* out, uint i [[thread_position_in_grid]]) {
  uint v = in[i], sum = 0, count = 0;
  do {
    sum += v % 10;
    v /= 10;
  } while (++count, v != 0);
  uint a = 1, b = 0;
  for (uint k = 0, m = count; k < m; ++k, --m) a *= 2, b += a;
  out[i] = sum * 100 + count * 10 + (b & 7) + simd_min(0u);
}
