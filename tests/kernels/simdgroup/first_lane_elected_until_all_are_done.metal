#include <metal_stdlib>
using namespace metal;

// Each turn serves all lanes that share the first lane's key.
kernel void turns(device const int* keys, device int* order, device int* sizes,
                  uint i [[thread_position_in_grid]]) {
  const int key = keys[i];
  int turn = 0;
  while (true) {
    const bool chosen = simd_broadcast_first(key) == key;
    const int size = simd_sum(chosen ? 1 : 0) + (simd_is_first() ? 1000 : 0);
    if (chosen) {
      sizes[i] = size;
      break;
    }
    ++turn;
  }
  order[i] = turn;
}
