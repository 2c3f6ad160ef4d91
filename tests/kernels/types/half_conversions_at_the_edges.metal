#include <metal_stdlib>
using namespace metal;

kernel void convert(device const float* in, device half* out, device int* whole,
                    uint i [[thread_position_in_grid]]) {
  out[i] = half(in[i]);
  const half h = half(in[i]);
  whole[i] = isinf(h) ? 99999 : isnan(h) ? -99999 : int(h);
}
