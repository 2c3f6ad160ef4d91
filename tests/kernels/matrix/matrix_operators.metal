#include <metal_simdgroup_matrix>
using namespace metal;

kernel void operate(device const float* a, device const float* b, device float* out) {
  simdgroup_float8x8 x, y;
  simdgroup_load(x, a);
  simdgroup_load(y, b);
  simdgroup_store(x * y, out);
  simdgroup_store(x + y, out + 64);
  simdgroup_store(x - y * 2.0f, out + 128);
  simdgroup_store(simdgroup_float8x8(3.0f) * x, out + 192);
  simdgroup_store(make_diagonal_simdgroup_matrix<float, 8>(2.0f), out + 256);
}
