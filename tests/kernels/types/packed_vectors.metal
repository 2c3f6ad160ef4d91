#include <metal_stdlib>
using namespace metal;

struct Entry {
  packed_float3 place;
  packed_uchar4 colour;
  packed_short2 size;
  uchar tail;
};

kernel void pack(device Entry* entries, device packed_int3* out, device float* sums,
                 uint i [[thread_position_in_grid]]) {
  device Entry& e = entries[i];
  const float3 p = e.place;
  e.place = p * 2.0f;
  e.place.y += 1;
  e.colour = uchar4(1, 2, 3, i);
  out[i] = int3(p) + packed_int3(e.size.x, e.size[1], 7);
  sums[i] = dot(float3(e.place), float3(1)) + length(float2(e.size)) * 0 + e.place[2];
  e.size = packed_short2(short2(5, -5));
}
