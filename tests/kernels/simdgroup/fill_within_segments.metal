#include <metal_stdlib>
using namespace metal;

// What comes into a segment comes from the lane that the shift ran past, of the second operand.
kernel void segments(device int* out, uint lane [[thread_index_in_simdgroup]]) {
  const int v = int(lane), f = 100 + int(lane);
  out[4 * lane] = simd_shuffle_and_fill_down(v, f, 3, 8);
  out[4 * lane + 1] = simd_shuffle_and_fill_up(v, f, 3, 8);
  out[4 * lane + 2] = simd_shuffle_and_fill_down(v, f, 1, 32);
  out[4 * lane + 3] = simd_shuffle_and_fill_up(v, f, 15, 16);
}
