#include <metal_stdlib>
using namespace metal;

struct Mixed {
  float3 a;
  float b;
  packed_float3 c;
  float d;
  short3 e;
  char3 f;
  bool2 g;
};

kernel void sizes(device uint* out, device const float3* in, device packed_float3* packed,
                  device const Mixed* mixed, uint i [[thread_position_in_grid]]) {
  if (i == 0) {
    out[0] = sizeof(float3); out[1] = alignof(float3); out[2] = sizeof(packed_float3);
    out[3] = sizeof(Mixed); out[4] = sizeof(char3); out[5] = sizeof(long3);
    out[6] = alignof(packed_half4); out[7] = sizeof(half3); out[8] = sizeof(bool4);
    out[9] = sizeof(float3x3); out[10] = sizeof(half2x4); out[11] = sizeof(packed_char3);
  }
  packed[i] = in[i].zyx + mixed[i].c + mixed[i].b;
}
