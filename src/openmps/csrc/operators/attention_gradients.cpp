// The second derivative of attention. Fused kernels have a backward that cannot be differentiated;
// a Mac, whose attention with gradients is the plain formula, gives it. So where somebody wants to
// differentiate a backward, it is computed by its formula, of operators that autograd knows.
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <torch/library.h>

#include <array>
#include <cmath>
#include <limits>

#include "tensor/header.h"

namespace openmps {
namespace {

using at::Tensor;
using torch::jit::Stack;

// The arguments of a backward, by the names that all of them share.
class BackwardArguments {
 public:
  BackwardArguments(const c10::FunctionSchema& schema, const Stack& stack)
      : schema_(schema), stack_(stack) {}

  const c10::IValue& operator[](size_t i) const {
    return stack_[stack_.size() - schema_.arguments().size() + i];
  }
  const c10::IValue& operator[](const char* name) const {
    const auto place = schema_.argumentIndexWithName(name);
    TORCH_INTERNAL_ASSERT(place.has_value(), schema_.name(), " has no argument ", name);
    return (*this)[static_cast<size_t>(*place)];
  }
  // Undefined if there is none.
  Tensor tensor(const char* name) const {
    const auto place = schema_.argumentIndexWithName(name);
    if (!place) return {};
    const auto& value = (*this)[static_cast<size_t>(*place)];
    return value.isTensor() ? value.toTensor() : Tensor();
  }

 private:
  const c10::FunctionSchema& schema_;
  const Stack& stack_;
};

// Sums over the queries' heads that share one of `like`.
Tensor for_shared_heads(const Tensor& gradient, const Tensor& like) {
  const auto repeats = gradient.dim() < 3 ? 1 : gradient.size(-3) / like.size(-3);
  if (repeats == 1) return gradient;
  return gradient.unflatten(-3, {like.size(-3), repeats}).sum(-3);
}

Tensor for_each_head(const Tensor& shared, const Tensor& query) {
  const auto repeats = query.dim() < 3 ? 1 : query.size(-3) / shared.size(-3);
  return repeats == 1 ? shared : shared.repeat_interleave(repeats, -3);
}

// Of queries, keys, values and bias.
std::array<Tensor, 4> gradients(const BackwardArguments& given, const Tensor& bias) {
  const auto wide = [&](size_t i) { return given[i].toTensor().to(at::kFloat); };
  const auto incoming = wide(0);
  const auto query = wide(1);
  const auto shared_key = wide(2);
  const auto shared_value = wide(3);
  const auto key = for_each_head(shared_key, query);
  const auto value = for_each_head(shared_value, query);
  const auto scale = given["scale"].toOptional<double>().value_or(
      1.0 / std::sqrt(static_cast<double>(query.size(-1))));

  auto scores = at::matmul(query, key.transpose(-2, -1)) * scale;
  if (bias.defined()) scores = scores + bias;
  if (given["is_causal"].toBool()) {
    const auto after = at::ones({query.size(-2), key.size(-2)}, query.options().dtype(at::kBool))
                           .tril()
                           .logical_not();
    scores = scores.masked_fill(after, -std::numeric_limits<double>::infinity());
  }
  const auto weights = at::_safe_softmax(scores, -1);
  const auto of_weights = at::matmul(incoming, value.transpose(-2, -1));
  const auto of_scores = weights * (of_weights - (of_weights * weights).sum(-1, /*keepdim=*/true));
  const auto of_key = at::matmul(of_scores.transpose(-2, -1), query) * scale;
  const auto of_value = at::matmul(weights.transpose(-2, -1), incoming);
  const auto narrow = [&](const Tensor& gradient, size_t i) {
    return gradient.to(given[i].toTensor().scalar_type());
  };
  return {narrow(at::matmul(of_scores, key) * scale, 1),
          narrow(for_shared_heads(of_key, shared_key), 2),
          narrow(for_shared_heads(of_value, shared_value), 3),
          bias.defined() ? of_scores.sum_to_size(bias.sizes()).to(bias.scalar_type()) : Tensor()};
}

void backward(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const auto& schema = op.schema();
  const BackwardArguments given(schema, *stack);
  const auto mask = given.tensor("attn_mask");
  const auto bias = mask.defined() ? mask : given.tensor("attn_bias");
  bool recorded = is_recorded(bias);
  for (size_t i = 0; i < 4; ++i) recorded |= is_recorded(given[i].toTensor());
  if (!recorded) {
    const at::AutoDispatchBelowADInplaceOrView no_gradients;
    op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
    return;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(given["dropout_p"].toDouble() == 0.0, "derivative for ",
                              schema.name(),
                              " is not implemented for a dropout whose mask only the GPU knows. "
                              "torch.use_deterministic_algorithms(True) gives attention a Mac's "
                              "masks and all derivatives.");
  const auto found = gradients(given, bias);
  const auto results = schema.returns().size();
  torch::jit::drop(*stack, schema.arguments().size());
  for (size_t i = 0; i < results; ++i) stack->emplace_back(found[i]);
}

TORCH_LIBRARY_IMPL(aten, AutogradMPS, m) {
  for (const char* name : {"_scaled_dot_product_efficient_attention_backward",
                           "_scaled_dot_product_flash_attention_backward",
                           "_scaled_dot_product_cudnn_attention_backward",
                           "_scaled_dot_product_flash_attention_for_cpu_backward"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&backward>());
  }
}

}  // namespace
}  // namespace openmps
