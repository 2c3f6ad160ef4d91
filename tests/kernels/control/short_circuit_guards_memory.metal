#include <metal_stdlib>
using namespace metal;

// Both arms of ?: and the right side of && must not be touched by lanes that do not take them.
kernel void guarded(device const int* in, device int* out, constant uint& length,
                    uint i [[thread_position_in_grid]]) {
  const uint far = i * 1000000;
  int v = far < length ? in[far] : -1;
  if (far < length && in[far] > 0) v += 10;
  if (far >= length || in[far] == 3) v += 100;
  device const int* p = i == 0 ? in : nullptr;
  out[i] = v + (p && *p ? 1000 : 0) + simd_sum(0);
}
