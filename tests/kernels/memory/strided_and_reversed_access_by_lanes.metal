#include <metal_stdlib>
using namespace metal;

kernel void access(device const ushort* in, device uint* out, constant uint& stride,
                   uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]) {
  uint sum = 0;
  for (uint k = 0; k < 3; ++k) sum += in[3 * i + k] * (k + 1);
  sum += in[(n - 1 - i) * 2];
  sum += in[i * stride % (3 * n)];
  out[n - 1 - i] = sum + simd_sum(in[i] & 1u);
}
