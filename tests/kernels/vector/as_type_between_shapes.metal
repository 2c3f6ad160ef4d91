#include <metal_stdlib>
using namespace metal;

namespace inner {
uint bits(float x) { return as_type<uint>(x); }
}

kernel void reinterpret(device const uint* in, device uint* out, device float* real,
                        uint i [[thread_position_in_grid]]) {
  const uint v = in[i];
  const half2 h = as_type<half2>(v);
  out[4 * i] = as_type<uint>(half2(h.y, h.x));
  const int2 parts = as_type<int2>((long(v) << 32) | 5);
  out[4 * i + 1] = uint(parts.x + parts.y);
  const uchar4 b = as_type<uchar4>(v);
  out[4 * i + 2] = b.x + b.y * 2 + b.z * 3 + b.w * 4;
  out[4 * i + 3] = inner::bits(float(v & 0xffff));
  real[i] = as_type<float>(0x3f800000u | (v & 0x7fffff));
}
