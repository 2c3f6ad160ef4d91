// Where a Mac casts first, as PyTorch does for every device but a few, CUDA's kernels read the half
// precision as it is: of a language model's scores that saves a copy in float32, forward and back.
#include "engine/cuda/softmax.h"

#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/log_softmax_native.h>
#include <ATen/ops/softmax_native.h>
#include <ATen/record_function.h>

#include "dispatch/typed.h"
#include "operators/recurrent.h"

namespace openmps {
namespace {

using at::Tensor;

// Set while a kernel is asked for that a Mac's operator refuses by that name.
thread_local bool g_at_once = false;

class AtOnce {
 public:
  AtOnce() { g_at_once = true; }
  AtOnce(const AtOnce&) = delete;
  AtOnce& operator=(const AtOnce&) = delete;
  ~AtOnce() { g_at_once = false; }
};

bool widens(const Tensor& self, std::optional<c10::ScalarType> dtype) {
  return dtype == c10::kFloat && is_mps(self) && is_plain(self) &&
         (self.scalar_type() == c10::kHalf || self.scalar_type() == c10::kBFloat16) &&
         !is_any_watched() && !profiler::wants(profiler::Kind::kOperation) && !at::hasCallbacks();
}

Tensor softmax_at_once(const Tensor& self, int64_t dim, std::optional<c10::ScalarType> dtype) {
  if (!widens(self, dtype)) return at::native::softmax(self, dim, dtype);
  const AtOnce scope;
  return at::_softmax(self, dim, /*half_to_float=*/true);
}

Tensor log_softmax_at_once(const Tensor& self, int64_t dim, std::optional<c10::ScalarType> dtype) {
  if (!widens(self, dtype)) return at::native::log_softmax(self, dim, dtype);
  const AtOnce scope;
  return at::_log_softmax(self, dim, /*half_to_float=*/true);
}

template <class Op>
Tensor softmax_kernel(const Tensor& self, int64_t dim, bool half_to_float) {
  return half_to_float && g_at_once ? OnBacking<Op>::run_as_given(self, dim, half_to_float)
                                    : OnBacking<Op>::run(self, dim, half_to_float);
}

}  // namespace

void register_softmax(Registrar& registrar) {
  registrar.impl("_softmax", &softmax_kernel<at::_ops::_softmax>);
  registrar.impl("_log_softmax", &softmax_kernel<at::_ops::_log_softmax>);
  registrar.impl_with_autograd("softmax.int", softmax_at_once);
  registrar.impl_with_autograd("log_softmax.int", log_softmax_at_once);
}

}  // namespace openmps
