#include <metal_stdlib>
using namespace metal;

template <typename T>
constexpr uint size_of(T) { return sizeof(T); }

kernel void literals(device uint* sizes, device float* out) {
  sizes[0] = size_of(1.0);
  sizes[1] = size_of(.5 + 1);
  sizes[2] = size_of(1e3);
  sizes[3] = size_of(1.5h);
  sizes[4] = size_of(0x1p4);
  sizes[5] = size_of(2h);
  sizes[6] = size_of(1.0f * 2);
  sizes[7] = size_of(1'000.0);
  sizes[8] = size_of(3L);
  sizes[9] = size_of('a');
  auto x = 0.1;
  out[0] = x * 3;
  out[1] = max(0.5, 2.0) + fmin(1., 3.f);
  out[2] = 16777216.0 + 1.0;
  out[3] = 1.0 / 3.0;
  out[4] = 0x1.8p1 + 1e-2;
  out[5] = 1.0e+2 - 0.5F;
}
