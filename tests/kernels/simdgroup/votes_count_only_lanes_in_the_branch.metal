#include <metal_stdlib>
using namespace metal;

kernel void votes(device const int* in, device ulong* out, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
  const int v = in[i];
  ulong all = 0, some = 0, none = 0, active = 0, set = 0;
  if (v >= 0) {
    active = ulong(simd_active_threads_mask());
    set = (ulong)simd_ballot(v % 2 == 0);
    all = simd_all(v >= 0);
    some = simd_any(v > 90);
    none = simd_any(v < 0);
  } else {
    active = ulong(simd_active_threads_mask()) << 32;
    set = ulong(simd_ballot(true));
    all = simd_all(v < -50) ? 2 : 3;
  }
  device ulong* o = out + 5 * i;
  o[0] = active; o[1] = set; o[2] = all; o[3] = some; o[4] = none;
}
