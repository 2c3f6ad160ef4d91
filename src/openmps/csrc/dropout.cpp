// native_dropout for engines without the kernels of random.cpp. It takes no generator, so the boxed
// kernel could not hand one over and the backing device would draw from its own. Here the mask is
// drawn by an operator that does take one.
#include "dropout.h"

#include <ATen/ops/bernoulli.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones_like.h>
#include <torch/library.h>

namespace openmps {
namespace {

using at::Tensor;

std::tuple<Tensor, Tensor> dropout_on_backing(const Tensor& input, double p,
                                              std::optional<bool> train) {
  const auto options = input.options().dtype(at::kBool);
  if (!train.value_or(true) || input.numel() == 0) {
    return {input.clone(), at::ones_like(input, options)};
  }
  auto mask = at::empty_like(input, options);
  mask.bernoulli_(1.0 - p);
  const double scale = p == 1.0 ? 0.0 : 1.0 / (1.0 - p);
  return {input.mul(mask).mul_(scale), mask};
}

}  // namespace

void register_backing_dropout() {
  static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::MPS, __FILE__,
                                __LINE__);
  library.impl("native_dropout", dropout_on_backing);
}

}  // namespace openmps
