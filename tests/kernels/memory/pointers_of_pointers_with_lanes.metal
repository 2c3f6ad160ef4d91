#include <metal_stdlib>
using namespace metal;

struct Table {
  device int* rows[2];
};

kernel void gather(device Table& table, device int* out, uint i [[thread_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
  device int* row = table.rows[lane % 2];
  const int v = row[lane / 2];
  row[16 + lane / 2] = simd_sum(v) + int(lane);
  out[i] = v;
}
