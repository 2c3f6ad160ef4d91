#include <metal_stdlib>
using namespace metal;

template <typename T, int R, int C>
void fill(threadgroup T (&tile)[R][C], T base, uint t) {
  for (uint k = t; k < uint(R * C); k += 32) tile[k / C][k % C] = base + T(k);
}

float corner(threadgroup float tile[4][5], uint row) { return tile[row][4]; }

int sum_of(const threadgroup int* p, threadgroup const int* end) {
  int sum = 0;
  while (p != end) sum += *p++;
  return sum;
}

kernel void tiles(device float* out, uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[4][5];
  threadgroup int whole[2][3];
  threadgroup float* flat = &tile[0][0];
  fill(tile, 0.5f, t);
  fill(whole, 10, t);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = corner(tile, t % 4) + float(sum_of(whole[1], whole[1] + 3)) + flat[t % 20];
}
