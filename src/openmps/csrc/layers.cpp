// Layers that on a Mac have kernels of their own, and here are made of other operators, as on the
// CPU: with a Mac's checks in front.
#include <ATen/ops/constant_pad_nd_native.h>
#include <ATen/ops/linear_native.h>
#include <ATen/ops/lstm_native.h>
#include <torch/library.h>

#include "generator.h"
#include "header.h"
#include "rules.h"

namespace openmps {
namespace {

using at::Tensor;

void check_linear(const Tensor& tensor, const char* argument, const char* plural) {
  TORCH_CHECK(at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type()),
              "MPS device does not support linear for non-float ", plural);
  TORCH_CHECK(tensor.is_mps(), "Tensor for argument ", argument, " is on ", tensor.device(),
              " but expected on mps");
}

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  if (is_strict()) {
    check_linear(input, "input", "inputs");
    check_linear(weight, "weight", "weights");
    if (bias && bias->defined()) check_linear(*bias, "bias", "bias");
  }
  return at::native::linear(input, weight, bias);
}

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, at::TensorList states,
                                        at::TensorList parameters, bool biases, int64_t layers,
                                        double dropout, bool train, bool bidirectional,
                                        bool batch_first) {
  TORCH_CHECK(states.size() == 2, "lstm expects two hidden states");
  TORCH_CHECK(states[0].size(2) == states[1].size(2) || !is_strict(),
              "LSTM with projections is not currently supported with MPS.");
  // Dropout between layers moves a Mac's generator by one block, whatever its size: the masks come
  // from Apple's graph library, seeded by that block. Its numbers are not known. Here they are the
  // usual ones, from a place that the same block determines.
  std::optional<DrawFrom> masks;
  if (dropout > 0.0 && train && layers > 1) masks.emplace(generator_for({}).reserve_words());
  return at::native::lstm(input, states, parameters, biases, layers, dropout, train, bidirectional,
                          batch_first);
}

Tensor constant_pad_nd(const Tensor& self, at::IntArrayRef pad, const at::Scalar& value) {
  if (pad.size() > 6) {
    TORCH_WARN_ONCE(
        "MPS: The constant padding of more than 3 dimensions is not currently supported natively. "
        "It uses View Ops default implementation to run. This may have performance implications.");
  }
  return at::native::constant_pad_nd(self, pad, value);
}

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("linear", linear);
  m.impl("lstm.input", lstm);
  m.impl("constant_pad_nd", constant_pad_nd);
}
// Made of other operators, these two record their own gradients.
TORCH_LIBRARY_IMPL(aten, AutogradMPS, m) {
  m.impl("linear", linear);
  m.impl("lstm.input", lstm);
}

}  // namespace
}  // namespace openmps
