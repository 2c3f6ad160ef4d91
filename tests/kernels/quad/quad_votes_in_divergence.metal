#include <metal_stdlib>
using namespace metal;

kernel void votes(device const uchar* in, device ushort* out, uint i [[thread_position_in_grid]]) {
  ushort r = 0;
  if (in[i] & 1) {
    r = ushort(quad_vote::vote_t(quad_ballot(in[i] & 2))) | ushort(quad_any(in[i] & 4) << 4) |
        ushort(quad_all(in[i] & 8) << 5);
  }
  out[i] = r;
}
