#include <metal_stdlib>
using namespace metal;

kernel void saxpy(device float* y, constant float* x, constant float& a,
                  uint i [[thread_position_in_grid]]) {
  y[i] = a * x[i] + y[i];
}

kernel void silu(device float* y, constant float* x, uint i [[thread_position_in_grid]]) {
  float v = x[i];
  y[i] = v / (1.0 + exp(-v));
}

// Sums over a threadgroup of 256 threads: each simdgroup its own, then the first all of them.
template <uint N>
static void group_sums(thread float (&sums)[N], threadgroup float (&partial)[N][8], uint lane,
                       uint simdgroup) {
  for (uint k = 0; k < N; k++) {
    float sum = simd_sum(sums[k]);
    if (lane == 0) partial[k][simdgroup] = sum;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup == 0) {
    for (uint k = 0; k < N; k++) {
      float sum = simd_sum(lane < 8 ? partial[k][lane] : 0.0);
      if (lane == 0) partial[k][0] = sum;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = 0; k < N; k++) sums[k] = partial[k][0];
}

kernel void subtract_mean(device float* y, device const float* x, constant uint& length,
                          uint row [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_position_in_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]],
                          uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float partial[1][8];
  x += row * length;
  y += row * length;
  float sums[1] = {0};
  for (uint i = thread_index; i < length; i += 256) sums[0] += x[i];
  group_sums(sums, partial, lane, simdgroup);
  float mean = sums[0] / length;
  for (uint i = thread_index; i < length; i += 256) y[i] = x[i] - mean;
}

kernel void layer_norm(device float* y, device const float* x, constant uint& length,
                       device const float* weight, device const float* bias,
                       uint row [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_position_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float partial[2][8];
  x += row * length;
  y += row * length;
  float sums[2] = {0, 0};
  for (uint i = thread_index; i < length; i += 256) {
    sums[0] += x[i];
    sums[1] += x[i] * x[i];
  }
  group_sums(sums, partial, lane, simdgroup);
  float mean = sums[0] / length;
  float variance = sums[1] / length - mean * mean;
  float scale = rsqrt(variance + 1e-5);
  for (uint i = thread_index; i < length; i += 256)
    y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

// c = a b, square; 128 threads compute a tile of 32x32, each simdgroup a quarter of it.
kernel void tile_product(device float* c, device const float* a, device const float* b,
                         constant uint& size, uint2 tile [[threadgroup_position_in_grid]],
                         uint2 at [[thread_position_in_threadgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float tile_a[32][32];
  threadgroup float tile_b[32][32];
  uint thread_index = at.x;
  uint row = 16 * (simdgroup / 2), column = 16 * (simdgroup % 2);
  simdgroup_float8x8 sum[2][2];
  for (uint i = 0; i < 2; i++)
    for (uint j = 0; j < 2; j++) sum[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0);
  for (uint k = 0; k < size; k += 32) {
    for (uint i = thread_index; i < 1024; i += 128) {
      tile_a[i / 32][i % 32] = a[(32 * tile.y + i / 32) * size + k + i % 32];
      tile_b[i / 32][i % 32] = b[(k + i / 32) * size + 32 * tile.x + i % 32];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 0; step < 32; step += 8) {
      simdgroup_float8x8 left[2], right[2];
      for (uint i = 0; i < 2; i++) {
        simdgroup_load(left[i], &tile_a[row + 8 * i][step], 32);
        simdgroup_load(right[i], &tile_b[step][column + 8 * i], 32);
      }
      for (uint i = 0; i < 2; i++)
        for (uint j = 0; j < 2; j++)
          simdgroup_multiply_accumulate(sum[i][j], left[i], right[j], sum[i][j]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint i = 0; i < 2; i++)
    for (uint j = 0; j < 2; j++)
      simdgroup_store(sum[i][j],
                      c + (32 * tile.y + row + 8 * i) * size + 32 * tile.x + column + 8 * j, size);
}

// Each group counts 16384 bytes in threadgroup memory, then adds its counts to the result.
kernel void histogram(device atomic_uint* counts, device const uchar* x,
                      uint group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint mine[256];
  atomic_store_explicit(&mine[thread_index], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x += group * 16384;
  for (uint i = thread_index; i < 16384; i += 256)
    atomic_fetch_add_explicit(&mine[x[i]], 1, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint found = atomic_load_explicit(&mine[thread_index], memory_order_relaxed);
  if (found) atomic_fetch_add_explicit(&counts[thread_index], found, memory_order_relaxed);
}
