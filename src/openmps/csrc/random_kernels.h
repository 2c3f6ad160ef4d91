// The compiled kernels of device/random.metal and poisson.metal: finding them, and running them
// over memory. A kernel is compiled when a process first asks for it; from then on a launch is a
// call.
#pragma once

#include <c10/core/ScalarType.h>

#include <initializer_list>

#include "../include/msl/launch.h"
#include "generator.h"

namespace openmps {

// The kernels, without the type that ends their names.
enum class Draw : uint8_t {
  kUniform,
  kNormal,
  kLogNormal,
  kCauchy,
  kExponential,
  kGeometric,
  kBernoulli,
  kBernoulliEach,
  kIntegers,
  kDropout,
  kGamma,
  kDirichletGamma,
  kNormaliseGamma,
  kPermute,
  kPermuteTies,
  kPoisson,
};

// Memory with one element for each that is drawn.
struct Elements {
  void* data;
  int64_t bytes_each;
  bool is_read = false;
};

class RandomKernel {
 public:
  explicit RandomKernel(PlainEntry* entry) : entry_(entry) {}

  // Runs that many threads; `buffers` are the kernel's, in its order.
  void run(int64_t threads, std::initializer_list<const void*> buffers) const;

  // Draws `count` elements, `per_thread` of them in each thread. The kernel's buffers are
  // `elements`, the blocks, and `parameters`, if it has any.
  void draw(int64_t count, int64_t per_thread, std::initializer_list<Elements> elements,
            Blocks blocks, const void* parameters = nullptr) const;

 private:
  void run_all(int64_t threads, void** buffers) const;
  PlainEntry* entry_;
};

// Throws as a Mac does if there is none for that type.
const RandomKernel& random_kernel(Draw what, c10::ScalarType type);

// Set once, before the first draw: gives the entry of a kernel by its whole name, or null if there
// is no such kernel. It may take its time, and throw.
using FindRandomKernel = void* (*)(const char* name);
extern FindRandomKernel g_find_random_kernel;

}  // namespace openmps
