#include <metal_stdlib>
using namespace metal;

int search(device const int* line, int length, int wanted) {
  for (int k = 0; k < length; ++k) {
    if (line[k] == wanted) return k;
    if (line[k] > wanted) return -k - 1;
  }
  return -1000;
}

kernel void find(device const int* line, constant int& length, device int* out,
                 uint i [[thread_position_in_grid]]) {
  const int first = search(line, length, int(i));
  const int second = search(line, length, int(i) * 2 + 1);
  out[i] = first * 10000 + second + simd_sum(0);
}
