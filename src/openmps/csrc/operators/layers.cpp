#include "operators/layers.h"

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/constant_pad_nd_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/linear_native.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/result_type.h>
#include <torch/library.h>
#include <torch/version.h>

#include "engine/engine.h"
#include "mac/rules.h"

namespace openmps {
namespace {

using at::Tensor;

void check_factor(const Tensor& tensor, const char* argument, const char* plural) {
  TORCH_CHECK(at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type()),
              "MPS device does not support linear for non-float ", plural);
  TORCH_CHECK(tensor.is_mps(), "Tensor for argument ", argument, " is on ", tensor.device(),
              " but expected on mps");
}

Tensor checked_linear(const Tensor& input, const Tensor& weight,
                      const std::optional<Tensor>& bias) {
  check_linear(input, weight, bias);
  return at::native::linear(input, weight, bias);
}

// In the order in which autograd computes it for the operators that linear is made of elsewhere.
std::tuple<Tensor, Tensor, Tensor> linear_backward(const Tensor& input, const Tensor& gradient,
                                                   const Tensor& weight,
                                                   std::array<bool, 3> wanted) {
  const auto rows = gradient.reshape({-1, weight.dim() == 1 ? 1 : weight.size(0)});
  const auto matrix = weight.dim() == 1 ? weight.unsqueeze(0) : weight;
  Tensor for_input;
  Tensor for_weight;
  Tensor for_bias;
  if (wanted[0]) for_input = rows.mm(matrix.conj()).view_symint(input.sym_sizes());
  if (wanted[1]) {
    const auto flat = input.reshape({-1, input.size(-1)});
    for_weight = rows.t().mm(flat.conj()).view_symint(weight.sym_sizes());
  }
  if (wanted[2]) for_bias = weight.dim() == 1 ? rows.sum() : rows.sum(0);
  return {for_input, for_weight, for_bias};
}

Tensor constant_pad_nd(const Tensor& self, at::IntArrayRef pad, const at::Scalar& value) {
  if (pad.size() > 6) {
    TORCH_WARN_ONCE(
        "MPS: The constant padding of more than 3 dimensions is not currently supported natively. "
        "It uses View Ops default implementation to run. This may have performance implications.");
  }
  // A Mac's result lies in rows, whatever its input does.
  const bool in_rows = !pad.empty() && pad.size() <= 6 && !engine().keeps_result_layout();
  return at::native::constant_pad_nd(in_rows ? self.contiguous() : self, pad, value);
}

// A Mac's formula looks at no sign: minus zero has a gradient of minus infinity, and without eps
// numbers as far as one away from the interval have one, too.
Tensor logit_gradient(const Tensor& gradient, const Tensor& self, std::optional<double> eps) {
  const auto type = at::result_type(gradient, self);
  const auto computed = at::toOpMathType(type);
  const auto x = self.to(computed);
  const double low = eps.value_or(-1.0);
  return gradient.to(computed)
      .div(x * (1 - x))
      .masked_fill_(at::logical_or(x < low, x > 1 - low), 0)
      .to(type);
}

Tensor& logit_gradient_out(const Tensor& gradient, const Tensor& self, std::optional<double> eps,
                           Tensor& out) {
  const auto result = logit_gradient(gradient, self, eps);
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

// What traced programs call. The stock version chooses a library by device, and on Linux knows none
// for mps. The flags are about CUDA's libraries; there the current ones count.
Tensor convolution_of_traces(const Tensor& input, const Tensor& weight,
                             const std::optional<Tensor>& bias, c10::SymIntArrayRef stride,
                             c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                             bool transposed, c10::SymIntArrayRef output_padding,
                             c10::SymInt groups, bool /*benchmark*/, bool /*deterministic*/,
                             bool /*cudnn*/, bool /*tf32*/) {
  return at::convolution_symint(input, weight, bias, stride, padding, dilation, transposed,
                                output_padding, std::move(groups));
}

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("linear_backward", linear_backward);
  m.impl("constant_pad_nd", constant_pad_nd);
  m.impl("logit_backward", logit_gradient);
  m.impl("logit_backward.grad_input", logit_gradient_out);
  m.impl("_convolution", TORCH_FN(convolution_of_traces));
}

}  // namespace

void check_linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  if (!is_strict()) return;
  unless_recorded("aten::linear", [&] {
    check_factor(input, "input", "inputs");
    check_factor(weight, "weight", "weights");
    if (bias && bias->defined()) check_factor(*bias, "bias", "bias");
  });
}

// Whether PyTorch's gradient of linear, and so a Mac's, takes complex numbers.
constexpr bool kComplexHasGradient = TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 12;

Tensor composed_linear(const Tensor& input, const Tensor& weight,
                       const std::optional<Tensor>& bias) {
  auto result = checked_linear(input, weight, bias);
  if (result.is_complex() && result.requires_grad() && is_strict() && !kComplexHasGradient) {
    unless_recorded("aten::linear", [] {
      TORCH_CHECK(
          false,
          "linear does not support automatic differentiation for outputs with complex dtype.");
    });
  }
  return result;
}

void register_layers(Registrar& registrar) { registrar.impl("linear", checked_linear); }

}  // namespace openmps
