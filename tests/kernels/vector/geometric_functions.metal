#include <metal_stdlib>
using namespace metal;

kernel void geometry(device const packed_float3* a, device const packed_float3* b, device float* out,
                     uint i [[thread_position_in_grid]]) {
  const float3 x = a[i], y = b[i];
  device float* o = out + 12 * i;
  o[0] = dot(x, y);
  o[1] = length(x);
  o[2] = distance(x, y);
  o[3] = length_squared(x);
  const float3 c = cross(x, y), u = normalize(x), r = reflect(x, float3(0, 1, 0));
  o[4] = c.x; o[5] = c.y; o[6] = c.z;
  o[7] = u.x; o[8] = u.y; o[9] = u.z;
  o[10] = r.y;
  o[11] = distance_squared(x.xy, y.xy);
}
