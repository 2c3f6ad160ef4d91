// Poisson numbers, for releases of PyTorch that have them on a Mac.
#include <c10/metal/random.h>
#include <openmps/builtin_math.h>

using namespace metal;

// The thread of element i draws from block `first` + 32 i on, one number of each block.
struct Stream {
  long seed;
  long first;
};

constant constexpr long kBlocks = 32;

// Knuth's method: how many uniform numbers can be multiplied before exp(-rate) is reached.
int poisson_by_product(float rate, long seed, long block) {
  const float end = exp_of(-rate);
  float product = c10::metal::rand(seed, block++);
  int count = 0;
  for (; product > end; ++count) product *= c10::metal::rand(seed, block++);
  return count;
}

// log k! for k < 11.
constant constexpr float kLogFactorials[] = {
    0.0f,       0.0f,       0.6931472f, 1.7917595f, 3.1780539f, 4.7874917f,
    6.5792512f, 8.5251614f, 10.604603f, 12.801827f, 15.104413f};

// From there on by Stirling's series, its terms added in a Mac's order: large ones cancel, and what
// their rounding leaves decides. Something more exact would draw other numbers.
float log_factorial(float k) {
  if (k < 11.0f) return kLogFactorials[int(k)];
  const float x = k + 1.0f;
  const float z = 1.0f / (x * x);
  const float series = fma(z, fma(z, 7.936508e-4f, -2.777778e-3f), 8.333333e-2f) / x;
  return (x - 0.5f) * log_of(x) - x + 0.9189385f + series;
}

// Transformed rejection: W. Hoermann, "The transformed rejection method for generating Poisson
// random variables" (1993), algorithm PTRD with its constants.
int poisson_by_rejection(float rate, long seed, long block) {
  const float b = 0.931f + 2.53f * sqrt(rate);
  const float a = -0.059f + 0.02483f * b;
  const float inverse_alpha = 1.1239f + 1.1328f / (b - 3.4f);
  const float quick = 0.9277f - 3.6224f / (b - 2.0f);
  const float log_rate = log_of(rate);
  for (;;) {
    const float u = c10::metal::rand(seed, block++) - 0.5f;
    const float v = 1.0f - c10::metal::rand(seed, block++);
    const float inside = 0.5f - fabs(u);
    const float k = floor((2.0f * a / inside + b) * u + rate + 0.43f);
    if (k < 0.0f) continue;
    if (inside >= 0.07f && v <= quick) return int(k);
    if (inside < 0.013f && v > inside) continue;
    const float drawn =
        log_from_zero(v) + log_of(inverse_alpha) - log_of(a / (inside * inside) + b);
    if (drawn <= -rate + k * log_rate - log_factorial(k)) return int(k);
  }
}

template <typename T>
kernel void draw_poisson(
    device T* out [[buffer(0)]],
    device const T* rates [[buffer(1)]],
    constant Stream& stream [[buffer(2)]],
    uint number [[thread_position_in_grid]]) {
  const float rate = float(rates[number]);
  const long block = stream.first + long(number) * kBlocks;
  int count = 0;  // also for rates that are none: negative, infinite, NaN
  if (rate > 0.0f && isfinite(rate)) {
    count = rate < 10.0f ? poisson_by_product(rate, stream.seed, block)
                         : poisson_by_rejection(rate, stream.seed, block);
  }
  out[number] = T(count);
}

#define POISSON(T)                                                       \
  template [[host_name("poisson_" #T)]] kernel void draw_poisson<T>(     \
      device T*, device const T*, constant Stream&, uint);
POISSON(float)
POISSON(half)
POISSON(bfloat)
