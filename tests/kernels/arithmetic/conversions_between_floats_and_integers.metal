#include <metal_stdlib>
using namespace metal;

kernel void convert(device const float* in, device int* out, device float* back,
                    uint i [[thread_position_in_grid]]) {
  const float x = in[i];
  out[5 * i] = int(x);
  out[5 * i + 1] = int(uint(abs(x)));
  out[5 * i + 2] = short(x / 1000);
  out[5 * i + 3] = int(long(x) * 3);
  out[5 * i + 4] = int(uchar(int(x)));
  back[3 * i] = float(out[5 * i]);
  back[3 * i + 1] = float(ulong(abs(x)) * 1000003ul);
  back[3 * i + 2] = float(16777217 + int(i) * 2);
}
