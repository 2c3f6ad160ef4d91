#include <metal_stdlib>
using namespace metal;

// Does not trap; the neighbours are right. In lanes and in a loop.
kernel void least(device const int* a, device const long* b, device int* out, device long* wide,
                  uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const int q = a[i] / -int(lane % 2), r = a[i] % -int(lane % 2);
  const long w = b[i] / -long(lane % 2);
  out[2 * i] = lane % 2 && a[i] != INT_MIN ? q : 0;
  out[2 * i + 1] = lane % 2 && a[i] != INT_MIN ? r : 0;
  wide[i] = lane % 2 && b[i] != LONG_MIN ? w : simd_sum(0);
}
