#include <metal_stdlib>
using namespace metal;

kernel void transpose_tile(device const float* in, device float* out, constant uint2& shape,
                           uint2 at [[thread_position_in_grid]],
                           uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[16][16 + 1];
  tile[t.y][t.x] = in[at.y * shape.x + at.x];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[at.x * shape.y + at.y] = tile[t.y][t.x];
}
