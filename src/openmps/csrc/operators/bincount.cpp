// bincount as a Mac has it: the counts have the weights' dtype, where the CPU's are double
// precision.
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "dispatch/determinism.h"
#include "mac/rules.h"

namespace openmps {
namespace {

using at::Tensor;

// A Mac adds up three kinds of weights, and takes any other for integers.
Tensor as_weights(const Tensor& weights) {
  const auto type = weights.scalar_type();
  const bool kept = type == c10::kFloat || type == c10::kInt || type == c10::kHalf;
  return kept ? weights : weights.to(c10::kInt);
}

Tensor bincount(const Tensor& self, const std::optional<Tensor>& given, int64_t minlength) {
  TORCH_CHECK(c10::isIntegralType(self.scalar_type(), /*includeBool=*/true));
  TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
  const auto integers = self.options().dtype(c10::kLong);
  if (self.dim() == 1 && self.numel() == 0) return at::zeros({minlength}, integers);
  TORCH_CHECK(self.dim() == 1 && self.min().item<int64_t>() >= 0,
              "bincount only supports 1-d non-negative integral inputs.");
  const bool weighted = given && given->defined();
  TORCH_CHECK(!weighted || (given->dim() == 1 && given->size(0) == self.size(0)),
              "weights should be 1-d and have the same length as input");
  TORCH_CHECK_NOT_IMPLEMENTED(
      self.scalar_type() != c10::kBool || !refuses("aten::bincount", "bool"),
      "bincount is not supported for Bool");
  const auto weights = weighted ? as_weights(*given) : at::ones_like(self, integers);
  const auto bins = std::max(self.max().item<int64_t>() + 1, minlength);
  const NoAlerts silent;  // of a scatter, which on a Mac this is not
  return at::zeros({bins}, weights.options()).scatter_add_(0, self.to(c10::kLong), weights);
}

TORCH_LIBRARY_IMPL(aten, MPS, m) { m.impl("bincount", bincount); }

}  // namespace
}  // namespace openmps
