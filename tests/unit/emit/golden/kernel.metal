#include <metal_stdlib>
using namespace metal;

struct Cell { packed_float3 position; half weight; uchar4 kind; };

static int steps(short n, bool up) { return n < 2 ? (up ? n : -n) : steps(n - 1, !up) + 1; }

kernel void f(device Cell* cells, device const half4* x, device const long* far,
              constant int& n, device atomic_int* count, device char* bytes,
              uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float shared[64];
  float own[4];
  for (int k = 0; k < 4; k++) own[(k + n) & 3] = float(x[i][k]);
  shared[i & 63] = own[n & 3];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  cells[i].position = float3(shared[lane], own[0], -own[1]);
  cells[i].weight = half(simd_sum(own[n & 1])) * 0.1h;
  cells[i].kind = uchar4(n << i, n >> lane, far[i] >> n, 1);
  *(device int*)(bytes + i) = steps(short(n), i > 3);
  if (far[i] > 4) atomic_fetch_add_explicit(count, 2, memory_order_relaxed);
}
