#include <c10/metal/reduction_utils.h>

kernel void reduce(device const float* in, device float* out, device long* places,
                   uint t [[thread_position_in_threadgroup]],
                   uint size [[threads_per_threadgroup]]) {
  threadgroup float scratch[32];
  threadgroup float scratch2[32];
  threadgroup long places_scratch[32];
  threadgroup float keys[32];
  const float sum = c10::metal::threadgroup_sum(scratch, in[t], t, size);
  const float high = c10::metal::threadgroup_max(scratch2, in[t], t, size);
  const long at = c10::metal::threadgroup_argmax(keys, places_scratch, in[t], long(t), t, size);
  out[2 * t] = sum;
  out[2 * t + 1] = high;
  places[t] = at;
}
