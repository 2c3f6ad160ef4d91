// torch's autocast takes batch norms on mps in float32, a Mac's list. Here the same, with the cast
// of a convolution's result replaced by one that moves nothing (lazy_bfloat16.h).
#include "engine/cuda/autocast.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/batch_norm.h>
#include <torch/library.h>

#include <atomic>
#include <mutex>

#include "engine/cuda/lazy_bfloat16.h"
#include "engine/cuda/lazy_operators.h"
#include "torch_interfaces/no_warnings.h"

namespace openmps {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

std::atomic<bool> g_lazy_batch_norms{false};

Tensor in_float32(const Tensor& input) {
  if (!g_lazy_batch_norms || !lazy::make_lazy(input))
    return at::autocast::cached_cast(at::kFloat, input, at::kMPS);
  auto result = input.to(at::kFloat);
  lazy::freeze(input);
  return result;
}

Tensor batch_norm_in_float32(const Tensor& input, const OptionalTensor& weight,
                             const OptionalTensor& bias, const OptionalTensor& running_mean,
                             const OptionalTensor& running_variance, bool training, double momentum,
                             double epsilon, bool use_cudnn) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastMPS);
  const auto cast = [](const OptionalTensor& parameter) {
    return at::autocast::cached_cast(at::kFloat, parameter, at::kMPS);
  };
  return at::batch_norm(in_float32(input), cast(weight), cast(bias), cast(running_mean),
                        cast(running_variance), training, momentum, epsilon, use_cudnn);
}

}  // namespace

bool takes_batch_norms_lazily() { return g_lazy_batch_norms; }

void take_batch_norms_lazily(bool on) {
  static std::once_flag once;
  g_lazy_batch_norms = on;
  if (!on) return;
  std::call_once(once, [] {
    lazy::switch_on();
    register_lazy_operators();
    const NoWarnings of_kernels_that_are_replaced;
    // Registrations last as long as their library objects: this one lives for ever.
    auto& m = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutocastMPS,
                                  __FILE__, __LINE__);
    m.impl("batch_norm", batch_norm_in_float32);
  });
}

}  // namespace openmps
