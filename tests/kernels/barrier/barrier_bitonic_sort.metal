#include <metal_stdlib>
using namespace metal;

kernel void sort(device float* data, uint t [[thread_index_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
  threadgroup float keys[256];
  device float* own = data + group * 256;
  keys[t] = own[t];
  for (uint span = 2; span <= 256; span *= 2) {
    for (uint step = span / 2; step > 0; step /= 2) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      const uint other = t ^ step;
      if (other > t) {
        const bool upward = (t & span) == 0;
        if ((keys[t] > keys[other]) == upward) {
          const float kept = keys[t];
          keys[t] = keys[other];
          keys[other] = kept;
        }
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  own[t] = keys[t];
}
