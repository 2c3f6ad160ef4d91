#include <metal_stdlib>
using namespace metal;

kernel void operate(device ulong* out, device bool* tests, uint lane [[thread_index_in_simdgroup]]) {
  const simd_vote even = simd_ballot(lane % 2 == 0);
  const simd_vote low = simd_ballot(lane < 8);
  if (lane == 0) {
    out[0] = ulong(even & low);
    out[1] = ulong(even | low);
    out[2] = ulong(even ^ low);
    out[3] = ulong(~even);
    tests[0] = even.any();
    tests[1] = even.all();
    tests[2] = (even | ~even).all();
    tests[3] = (even & ~even).any();
  }
}
