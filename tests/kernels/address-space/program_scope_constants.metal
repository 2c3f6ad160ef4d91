#include <metal_stdlib>
using namespace metal;

constant float scale = 1.5;
constant int table[2][3] = {{1, 2, 3}, {4, 5, 6}};
constant constexpr uint COUNT = 3;
constexpr constant float shifts[] = {0.5f, 0.25f, 0.125f};
static constant uchar flags[4] = {1, 0, 1, 1};

struct Limits {
  static constant constexpr int low = -4;
  static constexpr constant int high = 4;
  int value;
};

namespace deep {
constant float4 weights = float4(1, 10, 100, 1000);
constant Limits both = {7};
}

kernel void read(device float* out, uint i [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint k = 0; k < COUNT; ++k) sum += float(table[i % 2][k]) * shifts[k];
  const constant auto& row = table[1];
  constant float* p = shifts + 1;
  out[i] = sum * scale + Limits::low + Limits::high * 2 + dot(deep::weights, float4(flags[0], flags[1], flags[2], flags[3])) +
           row[i % 3] + p[0] + deep::both.value;
}
