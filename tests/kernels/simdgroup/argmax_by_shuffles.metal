#include <metal_stdlib>
using namespace metal;

struct Best {
  float value;
  uint at;
};

Best better(Best a, Best b) {
  return a.value > b.value || (a.value == b.value && a.at < b.at) ? a : b;
}

kernel void argmax(device const float* in, device uint* out, uint i [[thread_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
  Best best = {in[i], lane};
  for (ushort reach = 16; reach > 0; reach /= 2) {
    best = better(best, {simd_shuffle_xor(best.value, reach), simd_shuffle_xor(best.at, reach)});
  }
  out[i] = best.at;
}
