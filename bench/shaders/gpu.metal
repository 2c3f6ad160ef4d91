#include <metal_stdlib>
using namespace metal;

// Rows of 4096: 256 threads hold one in registers, 4 vectors of 4 each.
constant constexpr uint row_threads = 256;
constant constexpr uint row_vectors = 1024;
constant constexpr uint mine = row_vectors / row_threads;
constant constexpr uint row_simdgroups = row_threads / 32;

// Each thread moves 4 vectors: all loads are under way before the first store.
kernel void copy(device float4* y, device const float4* x,
                 uint group [[threadgroup_position_in_grid]],
                 uint t [[thread_position_in_threadgroup]],
                 uint width [[threads_per_threadgroup]]) {
  uint i = group * width * 4 + t;
  float4 a = x[i], b = x[i + width], c = x[i + 2 * width], d = x[i + 3 * width];
  y[i] = a;
  y[i + width] = b;
  y[i + 2 * width] = c;
  y[i + 3 * width] = d;
}

kernel void saxpy(device float* y, device const float* x, constant float& a,
                  uint i [[thread_position_in_grid]]) {
  y[i] = a * x[i] + y[i];
}

static float group_sum(float value, threadgroup float* partial, uint lane, uint simdgroup) {
  value = simd_sum(value);
  if (lane == 0) partial[simdgroup] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return simd_sum(lane < row_simdgroups ? partial[lane] : 0.0f);
}

static float group_max(float value, threadgroup float* partial, uint lane, uint simdgroup) {
  value = simd_max(value);
  if (lane == 0) partial[simdgroup] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return simd_max(lane < row_simdgroups ? partial[lane] : -INFINITY);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void layer_norm(device float4* y, device const float4* x, device const float4* weight,
                       device const float4* bias, uint row [[threadgroup_position_in_grid]],
                       uint t [[thread_position_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[row_simdgroups], squares[row_simdgroups];
  x += row * row_vectors;
  y += row * row_vectors;
  float4 values[mine];
  float sum = 0;
  for (uint k = 0; k < mine; k++) {
    values[k] = x[t + k * row_threads];
    sum += values[k].x + values[k].y + values[k].z + values[k].w;
  }
  float mean = group_sum(sum, sums, lane, simdgroup) / (4 * row_vectors);
  float square = 0;
  for (uint k = 0; k < mine; k++) {
    values[k] -= mean;
    square += dot(values[k], values[k]);
  }
  float variance = group_sum(square, squares, lane, simdgroup) / (4 * row_vectors);
  float scale = rsqrt(variance + 1e-5f);
  for (uint k = 0; k < mine; k++) {
    uint i = t + k * row_threads;
    y[i] = values[k] * scale * weight[i] + bias[i];
  }
}

[[max_total_threads_per_threadgroup(256)]]
kernel void row_softmax(device float4* y, device const float4* x,
                        uint row [[threadgroup_position_in_grid]],
                        uint t [[thread_position_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float largest[row_simdgroups], sums[row_simdgroups];
  x += row * row_vectors;
  y += row * row_vectors;
  float4 values[mine];
  float most = -INFINITY;
  for (uint k = 0; k < mine; k++) {
    values[k] = x[t + k * row_threads];
    most = max(most, max(max(values[k].x, values[k].y), max(values[k].z, values[k].w)));
  }
  most = group_max(most, largest, lane, simdgroup);
  float sum = 0;
  for (uint k = 0; k < mine; k++) {
    values[k] = exp(values[k] - most);
    sum += values[k].x + values[k].y + values[k].z + values[k].w;
  }
  float scale = 1 / group_sum(sum, sums, lane, simdgroup);
  for (uint k = 0; k < mine; k++) y[t + k * row_threads] = values[k] * scale;
}

// c = a b, square; a threadgroup of 32x32 threads computes a tile, a thread one element.
kernel void tiled_product(device float* c, device const float* a, device const float* b,
                          constant uint& size, uint2 at [[thread_position_in_grid]],
                          uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float tile_a[32][32];
  threadgroup float tile_b[32][32];
  float sum = 0;
  for (uint k = 0; k < size; k += 32) {
    tile_a[t.y][t.x] = a[at.y * size + k + t.x];
    tile_b[t.y][t.x] = b[(k + t.y) * size + at.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < 32; i++) sum += tile_a[t.y][i] * tile_b[i][t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  c[at.y * size + at.x] = sum;
}

// For the cost of a call.
kernel void nothing(device float* y, uint i [[thread_position_in_grid]]) { y[i] += 1; }
