// The same work written by hand, entered by the same runtime, so that threads and their start cost
// the same. `plain_*` are the obvious loops; `lanes_*` are what a person would write for 32 lanes.
#include "msl/launch.h"

using openmps::Block;
using openmps::Launch;

extern "C" float expf(float);
extern "C" float sqrtf(float);

namespace {

template <class T>
T* buffer(const Launch* launch, int index) {
  return static_cast<T*>(launch->buffers[index]);
}

// The row that a threadgroup of 256 threads works on.
struct Row {
  unsigned length;
  float* y;
  const float* x;
};

Row row_of(const Launch* launch, const Block* block) {
  const unsigned length = *buffer<const unsigned>(launch, 2);
  const unsigned long start = block->begin[0] / 256ul * length;
  return {length, buffer<float>(launch, 0) + start, buffer<const float>(launch, 1) + start};
}

typedef float Lanes __attribute__((vector_size(128), aligned(4)));

float total(Lanes value) {
  for (int width = 16; width > 0; width /= 2)
    for (int i = 0; i < width; i++) value[i] += value[i + width];
  return value[0];
}

Lanes load(const float* p) { return *reinterpret_cast<const Lanes*>(p); }
void store(float* p, Lanes value) { *reinterpret_cast<Lanes*>(p) = value; }

}  // namespace

extern "C" {

void plain_saxpy(const Launch* launch, const Block* block) {
  float* y = buffer<float>(launch, 0);
  const float* x = buffer<const float>(launch, 1);
  const float a = *buffer<const float>(launch, 2);
  const unsigned long end = block->end[0];
  for (unsigned long i = block->begin[0]; i < end; i++) y[i] = a * x[i] + y[i];
}

void plain_silu(const Launch* launch, const Block* block) {
  float* y = buffer<float>(launch, 0);
  const float* x = buffer<const float>(launch, 1);
  const unsigned long end = block->end[0];
  for (unsigned long i = block->begin[0]; i < end; i++) {
    float v = x[i];
    y[i] = v / (1.0f + expf(-v));
  }
}

void plain_subtract_mean(const Launch* launch, const Block* block) {
  const auto [length, y, x] = row_of(launch, block);
  float sum = 0;
  for (unsigned i = 0; i < length; i++) sum += x[i];
  const float mean = sum / length;
  for (unsigned i = 0; i < length; i++) y[i] = x[i] - mean;
}

void lanes_subtract_mean(const Launch* launch, const Block* block) {
  const auto [length, y, x] = row_of(launch, block);
  float sum = 0;
  for (unsigned simdgroup = 0; simdgroup < 8; simdgroup++) {
    Lanes lanes = {};
    for (unsigned i = simdgroup * 32; i < length; i += 256) lanes += load(x + i);
    sum += total(lanes);
  }
  const float mean = sum / length;
  for (unsigned simdgroup = 0; simdgroup < 8; simdgroup++)
    for (unsigned i = simdgroup * 32; i < length; i += 256) store(y + i, load(x + i) - mean);
}

void plain_layer_norm(const Launch* launch, const Block* block) {
  const auto [length, y, x] = row_of(launch, block);
  const float* weight = buffer<const float>(launch, 3);
  const float* bias = buffer<const float>(launch, 4);
  float sum = 0, squares = 0;
  for (unsigned i = 0; i < length; i++) {
    sum += x[i];
    squares += x[i] * x[i];
  }
  const float mean = sum / length;
  const float scale = 1 / sqrtf(squares / length - mean * mean + 1e-5f);
  for (unsigned i = 0; i < length; i++) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

void lanes_layer_norm(const Launch* launch, const Block* block) {
  const auto [length, y, x] = row_of(launch, block);
  const float* weight = buffer<const float>(launch, 3);
  const float* bias = buffer<const float>(launch, 4);
  float sum = 0, squares = 0;
  for (unsigned simdgroup = 0; simdgroup < 8; simdgroup++) {
    Lanes lanes = {}, square_lanes = {};
    for (unsigned i = simdgroup * 32; i < length; i += 256) {
      Lanes value = load(x + i);
      lanes += value;
      square_lanes += value * value;
    }
    sum += total(lanes);
    squares += total(square_lanes);
  }
  const float mean = sum / length;
  const float scale = 1 / sqrtf(squares / length - mean * mean + 1e-5f);
  for (unsigned simdgroup = 0; simdgroup < 8; simdgroup++)
    for (unsigned i = simdgroup * 32; i < length; i += 256)
      store(y + i, (load(x + i) - mean) * scale * load(weight + i) + load(bias + i));
}

// Rows begin to end of c = a b.
void plain_product(const Launch* launch, const Block* block) {
  float* c = buffer<float>(launch, 0);
  const float* a = buffer<const float>(launch, 1);
  const float* b = buffer<const float>(launch, 2);
  const unsigned long size = *buffer<const unsigned>(launch, 3);
  for (unsigned long i = block->begin[0]; i < block->end[0]; i++) {
    for (unsigned long j = 0; j < size; j++) c[i * size + j] = 0;
    for (unsigned long k = 0; k < size; k++) {
      const float left = a[i * size + k];
      for (unsigned long j = 0; j < size; j++) c[i * size + j] += left * b[k * size + j];
    }
  }
}

void plain_histogram(const Launch* launch, const Block* block) {
  unsigned* counts = buffer<unsigned>(launch, 0);
  const unsigned char* x = buffer<const unsigned char>(launch, 1) + block->begin[0] / 256 * 16384ul;
  unsigned mine[256] = {};
  for (unsigned i = 0; i < 16384; i++) mine[x[i]]++;
  for (unsigned i = 0; i < 256; i++) __atomic_fetch_add(&counts[i], mine[i], __ATOMIC_RELAXED);
}
}
