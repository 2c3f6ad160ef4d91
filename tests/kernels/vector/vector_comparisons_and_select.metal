#include <metal_stdlib>
using namespace metal;

kernel void compare(device const float4* a, device const float4* b, device int4* out,
                    device bool* tests, device float4* picked, uint i [[thread_position_in_grid]]) {
  const float4 x = a[i], y = b[i];
  out[i] = int4(x < y) + 2 * int4(x == y) + 4 * int4(x >= y);
  tests[2 * i] = any(x < y);
  tests[2 * i + 1] = all(x <= y && !(x == y));
  picked[i] = select(x, y, x < y);
  picked[i].w = select(1.0f, 2.0f, any(isnan(x)));
}
