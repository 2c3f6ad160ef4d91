#include "engine/cpu/attention.h"

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>

#include <algorithm>
#include <array>

#include "mac/rules.h"

namespace openmps {
namespace {

using at::Tensor;

// What the CPU's chooser says of its one fused kernel while the program allows it.
bool fits_fused_kernel(const AttentionInputs& in) {
  const auto& query = in.query;
  const auto fits = [&](const Tensor& other) {
    return other.dim() == 4 && other.size(0) == query.size(0) && other.size(2) != 0 &&
           other.size(3) == query.size(3) && other.stride(3) == 1 &&
           (other.size(1) == query.size(1) ||
            (in.grouped && other.size(1) != 0 && query.size(1) % other.size(1) == 0));
  };
  if (query.dim() != 4 || !fits(query) || !fits(in.key) || !fits(in.value)) return false;
  if (in.key.size(1) != in.value.size(1) || !at::isFloatingType(query.scalar_type())) return false;
  if (!in.bias) return true;
  const std::array<int64_t, 4> scores = {query.size(0), query.size(1), query.size(2),
                                         in.key.size(2)};
  if (in.bias->requires_grad() || (in.bias->dim() != 2 && in.bias->dim() != 4)) return false;
  return at::is_expandable_to(in.bias->sizes(), scores);
}

int64_t choose_cpu_kernel(const AttentionInputs& in) {
  if (in.is_symbolic()) return kMath;
  if (in.dropout > 0.0) return kMath;  // the fused kernel would draw masks of its own
  // With gradients a Mac falls back on the plain formula, and on its memory.
  if (in.needs_gradient() && is_strict()) return kMath;
  // The chooser, but not a Mac, minds what the program allows.
  if (!at::globalContext().userEnabledFlashSDP()) return fits_fused_kernel(in) ? kFlash : kMath;
  return choose_attention_kernel(in);
}

// The CPU's fused kernel wants batch and head dimensions, even where newer releases choose it for
// inputs without them.
Tensor add_leading(Tensor tensor, int64_t dimensions) {
  for (int64_t i = 0; i < dimensions; ++i) tensor = tensor.unsqueeze(0);
  return tensor;
}

}  // namespace

Tensor attention_on_cpu(const AttentionInputs& in) {
  if (choose_cpu_kernel(in) != kFlash) return plain_attention(in);
  const auto missing = std::max<int64_t>(0, 4 - in.query.dim());
  auto out = std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
      add_leading(in.query, missing), add_leading(in.key, missing), add_leading(in.value, missing),
      in.dropout, in.causal, in.bias && in.bias->dim() == 3 ? in.bias->unsqueeze(0) : in.bias,
      in.scale));
  for (int64_t i = 0; i < missing; ++i) out = out.squeeze(0);
  return out;
}

}  // namespace openmps
