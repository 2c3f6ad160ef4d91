// The kernels of device/random.metal and poisson.metal: which there are, and running them over
// memory.
#pragma once

#include <c10/core/ScalarType.h>

#include <initializer_list>

#include "torch_interfaces/generator.h"
#include "engine/builtin_kernels.h"

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
  explicit RandomKernel(const BuiltinKernel& kernel) : kernel_(kernel) {}

  // Runs that many threads; `buffers` are the kernel's, in its order.
  void run(int64_t threads, c10::ArrayRef<KernelArgument> buffers) const {
    kernel_.run(threads, buffers);
  }

  // Draws `count` elements, `per_thread` of them in each thread. The kernel's buffers are
  // `elements`, the blocks, and `parameters`, if it has any.
  void draw(int64_t count, int64_t per_thread, c10::ArrayRef<Elements> elements, Blocks blocks,
            KernelArgument parameters = {nullptr}) const;

 private:
  const BuiltinKernel& kernel_;
};

// Throws as a Mac does if there is none for that type.
const RandomKernel& random_kernel(Draw what, c10::ScalarType type);

}  // namespace openmps
