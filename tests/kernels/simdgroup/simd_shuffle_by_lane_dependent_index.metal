#include <metal_stdlib>
using namespace metal;

kernel void permute(device const long* in, device const ushort* from, device long* out,
                    device half* halves, device bool* flags, uint i [[thread_position_in_grid]]) {
  const ushort lane = from[i];
  out[i] = simd_shuffle(in[i], lane);
  halves[i] = simd_shuffle(half(in[i] % 100), lane);
  flags[i] = simd_shuffle(in[i] % 2 == 0, lane);
}
