#include <metal_stdlib>
using namespace metal;

struct Cell {
  float weight;
  ushort count;
  Cell() = default;
  Cell(float w, ushort c) : weight(w), count(c) {}
};

kernel void own(device float* out, uint t [[thread_index_in_threadgroup]],
                uint group [[threadgroup_position_in_grid]]) {
  threadgroup Cell cells[32];
  threadgroup uint total;
  threadgroup float3 corner[2];
  if (t == 0) {
    total = group;
    corner[0] = float3(group, 2, 3);
    corner[1] = corner[0].zyx;
  }
  cells[t] = Cell(float(group), ushort(t));
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint k = 0; k < 32; ++k) sum += cells[k].weight + cells[k].count;
  out[group * 32 + t] = sum + float(total) + corner[1].z + corner[0].y;
}
