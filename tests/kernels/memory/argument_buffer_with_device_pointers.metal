#include <metal_stdlib>
using namespace metal;

template <typename T, unsigned N>
struct Lists {
  metal::array<device T*, N> data [[id(0)]];
  metal::array<device const T*, 1> more [[id(N)]];
  ulong length;
};

kernel void add(constant Lists<float, 2>& lists, uint i [[thread_position_in_grid]]) {
  if (i >= lists.length) return;
  for (uint k = 0; k < 2; ++k) lists.data[k][i] += lists.more[0][i] * float(k + 1);
}
