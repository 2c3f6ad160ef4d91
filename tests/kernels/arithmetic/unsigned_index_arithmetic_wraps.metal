#include <metal_stdlib>
using namespace metal;

kernel void ring(device const float* in, device float* out, constant uint& shift,
                 uint i [[thread_position_in_grid]]) {
  // i - shift goes below zero for the first threads.
  const uint at = (i - shift) & 63u;
  const ushort small = ushort(i - shift);
  const uchar tiny = uchar(i * 5);
  out[i] = in[at] + float(small) + float(tiny) * 0.5f + simd_sum(0.0f);
}
