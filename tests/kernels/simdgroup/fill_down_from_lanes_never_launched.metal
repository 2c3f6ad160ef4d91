#include <metal_stdlib>
using namespace metal;

kernel void fill(device long* out, device float* real, uint i [[thread_position_in_grid]]) {
  out[i] = simd_shuffle_and_fill_down(long(i) << 33, long(-5), 4);
  real[i] = simd_shuffle_and_fill_up(float(i), -1.0f, 3);
}
