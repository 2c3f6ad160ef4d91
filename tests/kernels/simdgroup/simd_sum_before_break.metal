#include <metal_stdlib>
using namespace metal;

// The sum stands inside the loop: it counts the lanes that leave in this turn, no others.
kernel void turns(device const int* keys, device int* sizes, uint i [[thread_position_in_grid]]) {
  const int key = keys[i];
  while (true) {
    if (simd_broadcast_first(key) == key) {
      sizes[i] = simd_sum(1);
      break;
    }
  }
}
