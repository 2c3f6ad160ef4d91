// torch's autocast takes batch norms on mps in float32, a Mac's list. Here the same, with the cast
// of a convolution's result replaced by one that moves nothing (held.h).
#include "engine/cuda/autocast.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/batch_norm.h>
#include <torch/library.h>

#include <atomic>
#include <mutex>

#include "engine/cuda/lazy_bfloat16.h"

namespace openmps {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

std::atomic<bool> g_narrow{false};

Tensor in_float32(const Tensor& input) {
  if (!g_narrow || !held::hold(input))
    return at::autocast::cached_cast(at::kFloat, input, at::kMPS);
  auto result = input.to(at::kFloat);
  held::seal(input);
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

// PyTorch warns of kernels that replace its own.
struct Silence final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

}  // namespace

void narrow_batch_norms(bool on) {
  static std::once_flag once;
  g_narrow = on;
  if (!on) return;
  std::call_once(once, [] {
    Silence silence;
    const c10::WarningUtils::WarningHandlerGuard guard(&silence);
    // Registrations last as long as their library objects: this one lives for ever.
    auto& m = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutocastMPS,
                                  __FILE__, __LINE__);
    m.impl("batch_norm", batch_norm_in_float32);
  });
}

}  // namespace openmps
