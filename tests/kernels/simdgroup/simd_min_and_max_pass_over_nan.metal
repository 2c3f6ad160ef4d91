#include <metal_stdlib>
using namespace metal;

kernel void extremes(device const float* in, device float* out, device int* whole,
                     uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const float low = simd_min(in[i]), high = simd_max(in[i]);
  const half low_half = simd_min(half(in[i]));
  const int least = simd_min(int(lane) - 20), most = simd_max(int(lane) - 40);
  const uint small = simd_min(0x80000000u + lane), large = simd_max(0x7fffffffu + lane);
  const char narrow = simd_min(char(lane * 8));
  if (lane == 3) {
    out[i / 32 * 3] = low;
    out[i / 32 * 3 + 1] = high;
    out[i / 32 * 3 + 2] = low_half;
    device int* w = whole + i / 32 * 5;
    w[0] = least; w[1] = most; w[2] = int(small); w[3] = int(large); w[4] = narrow;
  }
}
