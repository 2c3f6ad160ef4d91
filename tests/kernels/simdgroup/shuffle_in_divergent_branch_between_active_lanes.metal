#include <metal_stdlib>
using namespace metal;

kernel void pairs(device int* out, uint lane [[thread_index_in_simdgroup]]) {
  int v = int(lane) * 3;
  if (lane >= 8 && lane < 24) {
    v = simd_shuffle(v, ushort(31 - lane)) + 1000;
    v += simd_shuffle_and_fill_down(v, -1, 8);
  }
  out[lane] = v;
}
