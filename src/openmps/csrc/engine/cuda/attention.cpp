#include "engine/cuda/attention.h"

#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>

#include <cmath>
#include <mutex>

#include "dispatch/determinism.h"
#include "engine/engine.h"
#include "profiler/profiler.h"
#include "tensor/allocation_tracker.h"
#include "tensor/header.h"
#include "torch_interfaces/generator.h"

namespace openmps {
namespace {

using at::Tensor;

// The process's switches for kernels (torch.nn.attention.sdpa_kernel). A Mac has none of those
// kernels and does not ask.
bool only_plain_formula_allowed() {
  const auto& context = at::globalContext();
  return context.userEnabledMathSDP() && !context.userEnabledFlashSDP() &&
         !context.userEnabledMemEfficientSDP();
}

int64_t choose_cuda_kernel(const AttentionInputs& in) {
  if (in.is_symbolic()) return kMath;
  // Fused kernels draw masks of their own: for their speed they may, unless somebody wants the same
  // numbers again.
  if (in.dropout > 0.0 && must_be_deterministic()) return kMath;
  // Asked for by name, the plain formula is what a Mac runs.
  if (only_plain_formula_allowed()) return kMath;
  return choose_attention_kernel(in);
}

Tensor pad_last(const Tensor& tensor, int64_t multiple) {
  const auto excess = tensor.size(-1) % multiple;
  return excess == 0 ? tensor : at::pad(tensor, {0, multiple - excess});
}

Tensor flash_attention(const AttentionInputs& in) {
  // The kernel wants a head size that is a multiple of 8; the scale is the true size's.
  const auto size = in.query.size(-1);
  const auto out = std::get<0>(at::_scaled_dot_product_flash_attention(
      pad_last(in.query, 8), pad_last(in.key, 8), pad_last(in.value, 8), in.dropout, in.causal,
      /*return_debug_mask=*/false, in.scale.value_or(1.0 / std::sqrt(static_cast<double>(size)))));
  return out.size(-1) == size ? out : out.slice(-1, 0, size);
}

Tensor efficient_attention(const AttentionInputs& in) {
  auto bias = in.bias;
  if (bias) {
    const auto length = bias->size(-1);
    bias = pad_last(*bias, 8)
               .slice(-1, 0, length)
               .expand({in.query.size(0), in.query.size(1), in.query.size(2), in.key.size(2)});
  }
  return std::get<0>(at::_scaled_dot_product_efficient_attention(
      in.query, in.key, in.value, bias, in.needs_gradient(), in.dropout, in.causal, in.scale));
}

}  // namespace

Tensor attention_on_cuda(const AttentionInputs& in) {
  const auto choice = choose_cuda_kernel(in);
  // Its masks never leave the registers of a fused kernel: they are drawn by CUDA's generator, from
  // where ours stands.
  std::unique_lock<std::mutex> alone;
  if (in.dropout > 0.0 && choice != kMath) alone = seed_backing_default();
  switch (choice) {
    case kFlash:
      return flash_attention(in);
    case kEfficient:
      return efficient_attention(in);
    case kCudnn:
      return std::get<0>(at::_scaled_dot_product_cudnn_attention(
          in.query, in.key, in.value, in.bias, in.needs_gradient(), in.dropout, in.causal,
          /*return_debug_mask=*/false, in.scale));
    default:
      return plain_attention(in);
  }
}

// Without the plain formula to fall back on, CUDA's operator raises where no other kernel fits.
bool has_fused_inference_attention_on_cuda(const AttentionInputs& in) {
  return in.dropout == 0.0 && is_mps(in.key) && is_mps(in.value) &&
         (!in.bias || is_mps(*in.bias)) && at::globalContext().userEnabledMathSDP();
}

// Without gradients CUDA's own operator does all of it, choice and padding included, on the backing
// tensors: one conversion, and only the output comes back.
Tensor fused_inference_attention_on_cuda(const AttentionInputs& in) {
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) {
    scope.begin_operation("aten::_scaled_dot_product_attention_math_for_mps", "",
                          {&in.query, &in.key, &in.value});
  }
  const BackingView q(in.query, /*written=*/false);
  const BackingView k(in.key, /*written=*/false);
  const BackingView v(in.value, /*written=*/false);
  // No fused kernel takes grouped heads in float32: those that are repeated have one.
  const bool repeats = in.grouped && in.query.scalar_type() == at::kFloat;
  const auto heads = [&](const BackingView& view) {
    const auto& tensor = view.get();
    return repeats ? tensor.repeat_interleave(in.query.size(-3) / in.key.size(-3), -3) : tensor;
  };
  std::optional<BackingView> b;
  if (in.bias) b.emplace(*in.bias, /*written=*/false);
  const at::AutoDispatchBelowADInplaceOrView no_gradients;  // it may be called by its own name
  try {
    const Tracking tracking;
    const NoAlerts silent;
    return new_on_mps(at::native::scaled_dot_product_attention(
        q.get(), heads(k), heads(v), b ? std::optional<Tensor>(b->get()) : std::nullopt,
        /*dropout_p=*/0.0, in.causal, in.scale, in.grouped && !repeats));
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }
}

}  // namespace openmps
