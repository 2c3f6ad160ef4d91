// The device's random numbers: what a Mac draws, word for word, over PyTorch's own Philox header.
//
// A thread draws one block, four words, and writes the four elements (two of 64 bits) made of them.
// It never asks how long the tensor is: csrc/operators/random_kernels.cpp draws a ragged end into scratch
// memory. So the loop over threads has no branch, and the compiler turns it into vector code.
//
// Logarithms and the like are not taken from a maths library: an element has the same bits on every
// machine. Host names are PyTorch's, because its error texts contain them.
#include <c10/metal/random.h>
#include <openmps/builtin_math.h>

using namespace metal;

// Thread i draws block `first` + i of the stream `seed`.
struct Stream {
  long seed;
  long first;
};

uint4 block_of(constant Stream& stream, uint thread_number) {
  return c10::metal::philox4::rand(stream.seed, stream.first + long(thread_number));
}

float uniform_of(uint word) { return c10::metal::detail::uint32_to_uniform_float(word); }

constant constexpr float kEpsilon = 1.1920929e-7f;

// ---- distributions: four words in, four floats out

float2 normal_pair(uint2 words) {
  const float radius = sqrt(-2.0f * log_of(max(uniform_of(words.x), kEpsilon)));
  const SineCosine angle = sine_cosine_of(2.0f * M_PI_F * uniform_of(words.y));
  return float2(radius * angle.cosine, radius * angle.sine);
}

float4 normals(uint4 words) {
  return float4(normal_pair(words.xy), normal_pair(words.zw));
}

struct Uniform {
  static float4 of(uint4 words, float2 from_to) {
    float4 out;
    for (int i = 0; i < 4; ++i) {
      out[i] = from_to.x + (from_to.y - from_to.x) * uniform_of(words[i]);
    }
    return out;
  }
};

struct Normal {
  static float4 of(uint4 words, float2 mean_deviation) {
    return mean_deviation.x + mean_deviation.y * normals(words);
  }
};

struct LogNormal {
  static float4 of(uint4 words, float2 mean_deviation) {
    const float4 exponent = mean_deviation.x + mean_deviation.y * normals(words);
    float4 out;
    for (int i = 0; i < 4; ++i) out[i] = exp_of(exponent[i]);
    return out;
  }
};

struct Cauchy {
  static float4 of(uint4 words, float2 median_width) {
    float4 out;
    for (int i = 0; i < 4; ++i) {
      const float u = clamp(uniform_of(words[i]), kEpsilon, 1.0f - kEpsilon);
      out[i] = median_width.x + median_width.y * tan_of(M_PI_F * (u - 0.5f));
    }
    return out;
  }
};

struct Exponential {
  static float4 of(uint4 words, float2 rate) {
    float4 out;
    for (int i = 0; i < 4; ++i) {
      out[i] = -log_of(1.0f - min(uniform_of(words[i]), 1.0f - kEpsilon)) / rate.x;
    }
    return out;
  }
};

// Its parameter is log(1 - p).
struct Geometric {
  static float4 of(uint4 words, float2 log_failure) {
    float4 out;
    for (int i = 0; i < 4; ++i) {
      out[i] = ceil(log_of(max(uniform_of(words[i]), kEpsilon)) / log_failure.x);
    }
    return out;
  }
};

struct Bernoulli {
  static float4 of(uint4 words, float2 p) {
    float4 out;
    for (int i = 0; i < 4; ++i) out[i] = uniform_of(words[i]) < p.x ? 1.0f : 0.0f;
    return out;
  }
};

// A float as an element of a tensor. A complex one is a pair of floats.
template <typename T>
struct Element {
  static T of(float value) { return static_cast<T>(value); }
};
template <>
struct Element<float2> {
  static float2 of(float value) { return float2(value, 0.0f); }
};
template <>
struct Element<half2> {
  static half2 of(float value) { return half2(half(value), half(0.0f)); }
};

template <typename T, typename Distribution>
kernel void draw(
    device T* out [[buffer(0)]],
    constant Stream& stream [[buffer(1)]],
    constant float2& parameters [[buffer(2)]],
    uint number [[thread_position_in_grid]]) {
  const float4 drawn = Distribution::of(block_of(stream, number), parameters);
  const ulong at = ulong(number) * 4;
  for (int i = 0; i < 4; ++i) out[at + i] = Element<T>::of(drawn[i]);
}

#define DRAW(name, Distribution, T)                                           \
  template [[host_name(name "_" #T)]] kernel void draw<T, Distribution>(      \
      device T*, constant Stream&, constant float2&, uint);
#define DRAW_FLOATS(name, Distribution) \
  DRAW(name, Distribution, float)       \
  DRAW(name, Distribution, half)        \
  DRAW(name, Distribution, bfloat)
#define DRAW_INTEGERS(name, Distribution) \
  DRAW(name, Distribution, int)           \
  DRAW(name, Distribution, long)          \
  DRAW(name, Distribution, short)         \
  DRAW(name, Distribution, char)          \
  DRAW(name, Distribution, uchar)

DRAW_FLOATS("uniform_dist", Uniform)
DRAW_FLOATS("normal", Normal)
DRAW_FLOATS("log_normal", LogNormal)
DRAW_FLOATS("cauchy", Cauchy)
DRAW_FLOATS("exponential", Exponential)
DRAW_FLOATS("geometric", Geometric)
DRAW_INTEGERS("geometric", Geometric)
DRAW_FLOATS("bernoulli_scalar", Bernoulli)
DRAW_INTEGERS("bernoulli_scalar", Bernoulli)
DRAW("bernoulli_scalar", Bernoulli, bool)
DRAW("bernoulli_scalar", Bernoulli, float2)
DRAW("bernoulli_scalar", Bernoulli, half2)

// ---- a probability for each element

template <typename T>
kernel void bernoulli_each(
    device T* out [[buffer(0)]],
    device const float* p [[buffer(1)]],
    constant Stream& stream [[buffer(2)]],
    uint number [[thread_position_in_grid]]) {
  const uint4 words = block_of(stream, number);
  const ulong at = ulong(number) * 4;
  for (int i = 0; i < 4; ++i) {
    out[at + i] = Element<T>::of(uniform_of(words[i]) < p[at + i] ? 1.0f : 0.0f);
  }
}

#define BERNOULLI_EACH(T)                                                            \
  template [[host_name("bernoulli_tensor_" #T)]] kernel void bernoulli_each<T>(      \
      device T*, device const float*, constant Stream&, uint);
BERNOULLI_EACH(float)
BERNOULLI_EACH(half)
BERNOULLI_EACH(bfloat)
BERNOULLI_EACH(bool)
BERNOULLI_EACH(uchar)
BERNOULLI_EACH(char)
BERNOULLI_EACH(short)
BERNOULLI_EACH(int)
BERNOULLI_EACH(long)
BERNOULLI_EACH(float2)
BERNOULLI_EACH(half2)

// ---- integers

// `base` + a word modulo `range`; a range of 0 means every value of the word.
struct Span {
  long base;
  long range;
};

template <typename T, int bytes = sizeof(T)>
struct Integers {
  static constexpr constant int count = 4;
  static long of(uint4 words, int i, long range) {
    const uint divisor = uint(range);
    if (range == 0) return long(int(words[i]));
    // More than 32 bits are cut off, as natively, where nothing left means a division by zero.
    return divisor == 0 ? long(words[i]) : long(words[i] % divisor);
  }
};
template <typename T>
struct Integers<T, 8> {
  static constexpr constant int count = 2;
  static long of(uint4 words, int i, long range) {
    const ulong word = (ulong(words[2 * i]) << 32) | ulong(words[2 * i + 1]);
    return long(range == 0 ? word : word % ulong(range));
  }
};

template <typename T>
kernel void draw_integers(
    device T* out [[buffer(0)]],
    constant Stream& stream [[buffer(1)]],
    constant Span& span [[buffer(2)]],
    uint number [[thread_position_in_grid]]) {
  const uint4 words = block_of(stream, number);
  constexpr int count = Integers<T>::count;
  const ulong at = ulong(number) * count;
  for (int i = 0; i < count; ++i) {
    out[at + i] = static_cast<T>(Integers<T>::of(words, i, span.range) + span.base);
  }
}

#define DRAW_INTEGER(T)                                                        \
  template [[host_name("random_int_" #T)]] kernel void draw_integers<T>(       \
      device T*, constant Stream&, constant Span&, uint);
DRAW_INTEGER(float)
DRAW_INTEGER(half)
DRAW_INTEGER(bfloat)
DRAW_INTEGER(bool)
DRAW_INTEGER(uchar)
DRAW_INTEGER(char)
DRAW_INTEGER(ushort)
DRAW_INTEGER(short)
DRAW_INTEGER(uint)
DRAW_INTEGER(int)
DRAW_INTEGER(ulong)
DRAW_INTEGER(long)

// ---- dropout

// The type a product with the scale is computed in.
template <typename T>
struct Wide {
  using type = float;
};
template <>
struct Wide<float2> {
  using type = float2;
};
template <>
struct Wide<half2> {
  using type = float2;
};

struct Keep {
  float probability;
  float scale;
};

template <typename T>
kernel void drop(
    device T* out [[buffer(0)]],
    device bool* mask [[buffer(1)]],
    device const T* in [[buffer(2)]],
    constant Stream& stream [[buffer(3)]],
    constant Keep& keep [[buffer(4)]],
    uint number [[thread_position_in_grid]]) {
  using W = typename Wide<T>::type;
  const uint4 words = block_of(stream, number);
  const ulong at = ulong(number) * 4;
  for (int i = 0; i < 4; ++i) {
    const bool kept = uniform_of(words[i]) < keep.probability;
    mask[at + i] = kept;
    out[at + i] = T(kept ? W(in[at + i]) * keep.scale : W(0.0f));
  }
}

#define DROP(T)                                                       \
  template [[host_name("dropout_fwd_" #T)]] kernel void drop<T>(      \
      device T*, device bool*, device const T*, constant Stream&, constant Keep&, uint);
DROP(float)
DROP(half)
DROP(bfloat)
DROP(float2)
DROP(half2)

// ---- gamma: one element a thread, with 32 blocks to draw from, one number of each

constant constexpr long kGammaBlocks = 32;

// Of the first two words of a block. An infinite logarithm is one natively, too.
float normal_of_block(long seed, long block) {
  const uint4 words = c10::metal::philox4::rand(seed, block);
  const float u = 1.0f - uniform_of(words.x);
  const float radius = sqrt(-2.0f * (u > 0.0f ? exact_log_of(u).high : -INFINITY));
  return radius * exact_cosine_of(2.0f * M_PI_F * (1.0f - uniform_of(words.y)));
}

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
float gamma_of(float shape, long seed, long block) {
  if (shape == 0.0f) return 0.0f;
  float boost = 1.0f;
  if (shape < 1.0f) {
    boost = power_of(1.0f - c10::metal::rand(seed, block++), 1.0f / shape);
    shape += 1.0f;
  }
  const float d = shape - 1.0f / 3.0f;
  if (!(d > 0.0f)) return NAN;  // of a NaN or far below 0; a Mac tries until it is stopped
  const float c = 1.0f / sqrt(9.0f * d);
  for (;;) {
    float x, y;
    do {
      x = normal_of_block(seed, block++);
      y = 1.0f + c * x;
    } while (y <= 0.0f);
    const float v = y * y * y;
    const float u = 1.0f - c10::metal::rand(seed, block++);
    const float squared = x * x;
    if (u < 1.0f - 0.0331f * squared * squared ||
        log_from_zero(u) < 0.5f * squared + d * (1.0f - v + log_from_zero(v))) {
      return max(boost * d * v, FLT_MIN);
    }
  }
}

// `Out` is float where the numbers are only on their way to a Dirichlet sample.
template <typename Out, typename T>
kernel void draw_gamma(
    device Out* out [[buffer(0)]],
    device const T* shape [[buffer(1)]],
    constant Stream& stream [[buffer(2)]],
    uint number [[thread_position_in_grid]]) {
  const long first = stream.first + long(number) * kGammaBlocks;
  out[number] = Out(gamma_of(float(shape[number]), stream.seed, first));
}

// What one threadgroup does on a Mac: a row's sum, in the order in which up to 1024 threads and
// then their simdgroups add it, and each element over it.
template <typename T>
kernel void normalise_gamma(
    device T* out [[buffer(0)]],
    device const float* drawn [[buffer(1)]],
    constant uint& columns [[buffer(2)]],
    uint row [[thread_position_in_grid]]) {
  device const float* values = drawn + ulong(row) * columns;
  const uint threads = min(columns, 1024u);
  float total = 0.0f;
  for (uint group = 0; group < threads; group += 32) {
    float of_group = 0.0f;
    for (uint lane = group; lane < min(group + 32, threads); ++lane) {
      float of_lane = 0.0f;
      for (uint i = lane; i < columns; i += threads) of_lane += values[i];
      of_group += of_lane;
    }
    total += of_group;
  }
  for (uint i = 0; i < columns; ++i) {
    const float value = float(T(values[i])) / total;
    out[ulong(row) * columns + i] = T(clamp(value, FLT_MIN, 1.0f - kEpsilon));
  }
}

#define GAMMA(T)                                                                       \
  template [[host_name("standard_gamma_" #T)]] kernel void draw_gamma<T, T>(           \
      device T*, device const T*, constant Stream&, uint);                             \
  template [[host_name("standard_dirichlet_" #T)]] kernel void draw_gamma<float, T>(   \
      device float*, device const T*, constant Stream&, uint);                         \
  template [[host_name("normalise_gamma_" #T)]] kernel void normalise_gamma<T>(        \
      device T*, device const float*, constant uint&, uint);
GAMMA(float)
GAMMA(half)
GAMMA(bfloat)

// ---- permutations: words in the order drawn, four of a block

struct Words {
  long seed;
  long block;
  uint4 drawn;
  uint used;

  uint next() thread {
    if (used == 4) {
      drawn = c10::metal::philox4::rand(seed, block++);
      used = 0;
    }
    return drawn[used++];
  }
};

// Fisher and Yates. One thread does it all: a Mac shuffles serially, too.
template <typename T>
void shuffle(device T* data, uint count, thread Words& words) {
  for (uint i = count; i-- > 1;) {
    const uint j = words.next() % (i + 1);
    const T kept = data[i];
    data[i] = data[j];
    data[j] = kept;
  }
}

template <typename T>
kernel void permute(
    device T* out [[buffer(0)]],
    constant Stream& stream [[buffer(1)]],
    constant uint& count [[buffer(2)]],
    uint number [[thread_position_in_grid]]) {
  for (uint i = 0; i < count; ++i) out[i] = T(i);
  Words words = {stream.seed, stream.first, uint4(0), 4};
  shuffle(out, count, words);
}

// Elements that were sorted by equal keys are shuffled among themselves; the first of them does it.
template <typename T>
kernel void permute_ties(
    device T* data [[buffer(0)]],
    device const int* keys [[buffer(1)]],
    constant Stream& stream [[buffer(2)]],
    constant uint& count [[buffer(3)]],
    uint first [[thread_position_in_grid]]) {
  const int key = keys[first];
  if (first != 0 && keys[first - 1] == key) return;
  uint ties = 1;
  while (first + ties < count && keys[first + ties] == key) ++ties;
  Words words = {stream.seed, stream.first + long(first), uint4(0), 4};
  shuffle(data + first, ties, words);
}

#define PERMUTE(T)                                                                        \
  template [[host_name("randperm_small_" #T)]] kernel void permute<T>(                    \
      device T*, constant Stream&, constant uint&, uint);                                 \
  template [[host_name("randperm_dedup_islands_" #T)]] kernel void permute_ties<T>(       \
      device T*, device const int*, constant Stream&, constant uint&, uint);
PERMUTE(int)
PERMUTE(long)
