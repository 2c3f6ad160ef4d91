#include <metal_simdgroup_matrix>
using namespace metal;

kernel void move(device const float* in, device float* out) {
  simdgroup_float8x8 m, t;
  simdgroup_load(m, in, 24, ulong2(5, 3));
  simdgroup_load(t, in + 1, 24, ulong2(5, 3), true);
  simdgroup_store(m, out, 20, ulong2(2, 1));
  simdgroup_store(t, out, 20, ulong2(11, 9), true);
}
