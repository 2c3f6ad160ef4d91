#include <metal_stdlib>
using namespace metal;

// What a lane had when it left is what it must still have when the last lane leaves.
kernel void after(device const uint* in, device uint* out, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
  uint last = 1000, k = 0, previous = 7, before = 0;
  float f = 0;
  for (; k < 50; ++k) {
    before = previous;
    previous = last;
    last = last * 1664525u + in[i];
    f += 0.5f;
    if ((last >> 28) == (in[i] & 15)) break;
  }
  const uint found = simd_shuffle_xor(last, 1);
  device uint* o = out + 6 * i;
  o[0] = last; o[1] = k; o[2] = previous; o[3] = before; o[4] = found; o[5] = uint(f * 2);
}
