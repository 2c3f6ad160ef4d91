// The algorithms of gpu.metal as one writes them in CUDA, for bench/gpu_shaders.py.
constexpr unsigned kRowThreads = 256;
constexpr unsigned kRowVectors = 1024;
constexpr unsigned kMine = kRowVectors / kRowThreads;
constexpr unsigned kRowWarps = kRowThreads / 32;
constexpr unsigned kAll = 0xffffffff;

extern "C" __global__ void copy(float4* __restrict__ y, const float4* __restrict__ x) {
  unsigned i = blockIdx.x * blockDim.x * 4 + threadIdx.x;
  float4 a = x[i], b = x[i + blockDim.x], c = x[i + 2 * blockDim.x], d = x[i + 3 * blockDim.x];
  y[i] = a;
  y[i + blockDim.x] = b;
  y[i + 2 * blockDim.x] = c;
  y[i + 3 * blockDim.x] = d;
}

extern "C" __global__ void saxpy(float* __restrict__ y, const float* __restrict__ x, float a,
                                 unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = a * x[i] + y[i];
}

__device__ float warp_sum(float value) {
  for (int lanes = 16; lanes; lanes /= 2) value += __shfl_xor_sync(kAll, value, lanes);
  return value;
}

__device__ float warp_max(float value) {
  for (int lanes = 16; lanes; lanes /= 2) value = fmaxf(value, __shfl_xor_sync(kAll, value, lanes));
  return value;
}

__device__ float block_sum(float value, float* partial) {
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_sum(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  return warp_sum(lane < kRowWarps ? partial[lane] : 0.0f);
}

__device__ float block_max(float value, float* partial) {
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_max(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  return warp_max(lane < kRowWarps ? partial[lane] : -__int_as_float(0x7f800000));
}

__device__ float sum4(float4 v) { return v.x + v.y + v.z + v.w; }

extern "C" __global__ void __launch_bounds__(kRowThreads)
    layer_norm(float4* __restrict__ y, const float4* __restrict__ x,
               const float4* __restrict__ weight, const float4* __restrict__ bias) {
  __shared__ float sums[kRowWarps], squares[kRowWarps];
  x += blockIdx.x * kRowVectors;
  y += blockIdx.x * kRowVectors;
  float4 values[kMine];
  float sum = 0;
#pragma unroll
  for (unsigned k = 0; k < kMine; k++) {
    values[k] = x[threadIdx.x + k * kRowThreads];
    sum += sum4(values[k]);
  }
  float mean = block_sum(sum, sums) / (4 * kRowVectors);
  float square = 0;
#pragma unroll
  for (unsigned k = 0; k < kMine; k++) {
    float4 v = values[k];
    v = make_float4(v.x - mean, v.y - mean, v.z - mean, v.w - mean);
    square += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    values[k] = v;
  }
  float scale = rsqrtf(block_sum(square, squares) / (4 * kRowVectors) + 1e-5f);
#pragma unroll
  for (unsigned k = 0; k < kMine; k++) {
    unsigned i = threadIdx.x + k * kRowThreads;
    float4 v = values[k], w = weight[i], b = bias[i];
    y[i] = make_float4(v.x * scale * w.x + b.x, v.y * scale * w.y + b.y, v.z * scale * w.z + b.z,
                       v.w * scale * w.w + b.w);
  }
}

extern "C" __global__ void __launch_bounds__(kRowThreads)
    row_softmax(float4* __restrict__ y, const float4* __restrict__ x) {
  __shared__ float largest[kRowWarps], sums[kRowWarps];
  x += blockIdx.x * kRowVectors;
  y += blockIdx.x * kRowVectors;
  float4 values[kMine];
  float most = -__int_as_float(0x7f800000);
#pragma unroll
  for (unsigned k = 0; k < kMine; k++) {
    float4 v = values[k] = x[threadIdx.x + k * kRowThreads];
    most = fmaxf(most, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
  }
  most = block_max(most, largest);
  float sum = 0;
#pragma unroll
  for (unsigned k = 0; k < kMine; k++) {
    float4 v = values[k];
    values[k] = make_float4(expf(v.x - most), expf(v.y - most), expf(v.z - most), expf(v.w - most));
    sum += sum4(values[k]);
  }
  float scale = 1 / block_sum(sum, sums);
#pragma unroll
  for (unsigned k = 0; k < kMine; k++) {
    float4 v = values[k];
    y[threadIdx.x + k * kRowThreads] =
        make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
  }
}

extern "C" __global__ void __launch_bounds__(1024)
    tiled_product(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b,
                  unsigned size) {
  __shared__ float tile_a[32][32];
  __shared__ float tile_b[32][32];
  unsigned column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  float sum = 0;
  for (unsigned k = 0; k < size; k += 32) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * size + k + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * size + column];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < 32; i++) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  c[row * size + column] = sum;
}

extern "C" __global__ void nothing(float* y) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += 1;
}
