#include <metal_stdlib>
using namespace metal;

// simd_sum at the end makes the lanes run together.
kernel void collatz(device const uint* in, device uint* out, device uint* sums,
                    uint i [[thread_position_in_grid]]) {
  uint v = in[i], steps = 0;
  while (v != 1) {
    v = v % 2 ? 3 * v + 1 : v / 2;
    ++steps;
  }
  out[i] = steps;
  sums[i] = simd_sum(steps);
}
