#include <metal_stdlib>
using namespace metal;

constant constexpr uint TILE = 8;

kernel void multiply(device const float* a, device const float* b, device float* c,
                     constant uint3& size, uint2 at [[thread_position_in_grid]],
                     uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float left[TILE][TILE], right[TILE][TILE];
  float sum = 0;
  for (uint k = 0; k < size.z; k += TILE) {
    left[t.y][t.x] = at.y < size.y && k + t.x < size.z ? a[at.y * size.z + k + t.x] : 0.0;
    right[t.y][t.x] = k + t.y < size.z && at.x < size.x ? b[(k + t.y) * size.x + at.x] : 0.0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < TILE; ++j) sum = fma(left[t.y][j], right[j][t.x], sum);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (at.x < size.x && at.y < size.y) c[at.y * size.x + at.x] = sum;
}
