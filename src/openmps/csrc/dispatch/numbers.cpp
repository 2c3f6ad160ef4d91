#include "dispatch/numbers.h"

#include <ATen/ExpandUtils.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_cdist_forward.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/polar.h>
#include <ATen/ops/real.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "tensor/allocation_tracker.h"
#include "tensor/header.h"

namespace openmps {
namespace {

using at::Tensor;
using torch::jit::Stack;
using Run = c10::function_ref<void()>;

// Puts `result` in place of `count` arguments and, if there is one more, into that.
void give(Stack* stack, size_t first, size_t count, const Tensor& result) {
  const bool has_out = stack->size() - first > count;
  Tensor out = has_out ? stack->at(first + count).toTensor() : result;
  stack->resize(first);
  if (has_out) {
    TORCH_CHECK(is_mps(out), "Expected out tensor to be on ", kMpsDevice, ", but found ",
                out.device(), " instead");
    at::native::resize_output(out, result.sizes());
    out.copy_(result);
  }
  stack->emplace_back(std::move(out));
}

// Writes to a result, which for autograd was written to already.
void write(const Tensor& result, const Tensor& numbers) {
  BackingView to(result);
  const BackingView from(numbers);
  to.get().copy_(from.get());
}

// Whether the tensor that comes after `count` arguments, if there is one, has that dtype.
bool takes(const Stack& stack, size_t first, size_t count, c10::ScalarType type) {
  return stack.size() - first == count || stack[first + count].toTensor().scalar_type() == type;
}

// ---- softmax in half precision: a Mac's is a graph of operators, each of which rounds its result.
// Which of the CPU's kernels round in between, and what, is another matter. Sums stay float32 until
// they are used, which is what PyTorch's suite sees on Macs.

// Elements that each processor has in such steps at a time.
constexpr int64_t kPiece = int64_t{1} << 16;

using Pieces = std::array<Tensor, 2>;

// `compute` for pieces of the tensors that are whole along `dim`, the second dimension of their
// three.
template <class Compute>
Tensor by_pieces(int64_t dim, const Compute& compute, const Tensor& a, const Tensor& b = {}) {
  const auto sizes = a.sizes();
  const auto axis = static_cast<size_t>(c10::maybe_wrap_dim(dim, a.dim()));
  const auto length = sizes[axis];
  const auto rows = c10::multiply_integers(sizes.slice(0, axis));
  const auto columns = c10::multiply_integers(sizes.slice(axis + 1));
  const auto result = at::empty(sizes, a.options().memory_format(c10::MemoryFormat::Contiguous));
  const auto first = a.contiguous();
  const auto second = b.defined() ? b.contiguous() : first;
  const BackingView out(result);
  const BackingView in_first(first, /*written=*/false);
  const BackingView in_second(second, /*written=*/false);

  const Tracking untracked(false);  // the steps' results are no memory of a Mac's
  const auto split = rows > 1 ? 0 : 2;
  const auto all = split == 0 ? rows : columns;
  const auto one = length * (split == 0 ? columns : rows);
  const auto count = std::max<int64_t>(1, kPiece * at::get_num_threads() / one);
  for (int64_t begin = 0; begin < all; begin += count) {
    const auto piece = [&](const BackingView& tensor) {
      return tensor.get()
          .view({rows, length, columns})
          .narrow(split, begin, std::min(count, all - begin));
    };
    piece(out).copy_(compute(Pieces{piece(in_first), piece(in_second)}));
  }
  return result;
}

Tensor total(const Tensor& tensor) { return tensor.sum(1, /*keepdim=*/true, c10::kFloat); }

bool is_half(const Tensor& tensor) {
  return tensor.scalar_type() == c10::kHalf || tensor.scalar_type() == c10::kBFloat16;
}

// Whether there is something to compute by pieces; the rest is checked and given by the operator.
bool has_pieces(const Tensor& tensor) { return tensor.numel() > 1 && tensor.dim() > 0; }

void log_softmax(Stack* stack, size_t first, Run run) {
  const auto self = stack->at(first).toTensor();
  const auto type = self.scalar_type();
  if (!has_pieces(self) || stack->at(first + 2).toBool() || !takes(*stack, first, 3, type)) {
    return run();
  }
  const auto compute = [&](const Pieces& x) {
    const auto below = x[0] - x[0].amax(1, /*keepdim=*/true);
    return below - total(below.exp()).log().to(type);
  };
  give(stack, first, 3, by_pieces(stack->at(first + 1).toInt(), compute, self));
}

template <class Compute>
void backward(Stack* stack, size_t first, Run run, const Compute& compute) {
  const auto gradient = stack->at(first).toTensor();
  const auto output = stack->at(first + 1).toTensor();
  if (!has_pieces(gradient) || gradient.sizes() != output.sizes() || !is_half(gradient) ||
      output.scalar_type() != gradient.scalar_type() ||
      !takes(*stack, first, 4, gradient.scalar_type())) {
    return run();
  }
  give(stack, first, 4, by_pieces(stack->at(first + 2).toInt(), compute, gradient, output));
}

void log_softmax_backward(Stack* stack, size_t first, Run run) {
  backward(stack, first, run, [](const Pieces& x) {
    const auto& [gradient, output] = x;
    return gradient - (output.exp() * total(gradient)).to(gradient.scalar_type());
  });
}

void softmax_backward(Stack* stack, size_t first, Run run) {
  backward(stack, first, run, [](const Pieces& x) {
    const auto& [gradient, output] = x;
    return output * (gradient - total(output * gradient)).to(gradient.scalar_type());
  });
}

// ---- complex numbers

// In polar form. A zero has no logarithm: 0 in PyTorch's kernel, not a number in MPSGraph's.
Tensor polar_power(const Tensor& base, const Tensor& exponent, float of_zero) {
  const auto parts = at::view_as_real(base.resolve_conj().to(c10::kComplexFloat));
  const auto powers = at::view_as_real(exponent.resolve_conj().to(c10::kComplexFloat));
  const auto x = parts.select(-1, 0);
  const auto y = parts.select(-1, 1);
  const auto real = powers.select(-1, 0);
  const auto imaginary = powers.select(-1, 1);
  const auto radius = (x * x + y * y).sqrt();
  const auto angle = at::atan2(y, x);
  const auto logarithm = radius.log();
  const auto length = (real * logarithm - imaginary * angle).exp();
  const auto result = at::polar(length, real * angle + imaginary * logarithm);
  return result.masked_fill_(radius == 0, c10::complex<float>(of_zero, of_zero));
}

void power_of_tensor(Stack* stack, size_t first, Run run) {
  const auto self = stack->at(first).toTensor();
  const auto exponent = stack->at(first + 1).toScalar();
  const auto type = self.scalar_type();
  if (self.numel() == 0 || !self.is_complex() || !takes(*stack, first, 2, type)) return run();
  if (!exponent.isComplex()) {
    const auto power = exponent.toFloat();
    for (const float other : {0.0F, 1.0F, 2.0F, -1.0F, 0.5F, -0.5F}) {
      if (power == other) return run();  // to which a Mac comes another way
    }
  }
  const auto power = at::full({}, exponent, self.options());
  const auto result = self.mul(exponent);  // for its layout
  give(stack, first, 2, result.copy_(polar_power(self, power, 0)));
}

// The graph for powers that are tensors; newer releases have a kernel.
constexpr bool kHasKernel = TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 15;

void power_by_tensor(Stack* stack, size_t first, Run run) {
  const auto base = stack->at(first);
  const auto exponent = stack->at(first + 1).toTensor();
  if (base.isScalar() && base.toScalar().equal(1)) return run();
  const auto self =
      base.isTensor() ? base.toTensor() : at::full({}, base.toScalar(), exponent.options());
  const auto type = base.isTensor() ? at::result_type(self, exponent)
                                    : at::result_type(base.toScalar(), exponent);
  const bool fits =
      is_mps(self) && is_mps(exponent) && c10::isComplexType(type) && takes(*stack, first, 2, type);
  if (!fits || self.numel() == 0 || exponent.numel() == 0) return run();
  constexpr float of_zero = kHasKernel ? 0 : std::numeric_limits<float>::quiet_NaN();
  const auto result = self.mul(exponent).to(type);  // for its layout
  give(stack, first, 2, result.copy_(polar_power(self, exponent, of_zero)));
}

// Its first argument is also where the result goes.
template <auto compute>
void in_place(Stack* stack, size_t first, Run run) {
  const auto sizes = stack->at(first).toTensor().sizes();
  const auto& other = stack->back();
  if (other.isTensor() && !at::is_expandable_to(other.toTensor().sizes(), sizes)) return run();
  stack->emplace_back(stack->at(first));
  bool as_everywhere = false;
  compute(stack, first, [&] { as_everywhere = true; });
  if (!as_everywhere) return;
  stack->pop_back();
  run();
}

// On the real axis the result is real, where the CPU's infinities meet zeros.
template <Tensor (*function)(const Tensor&)>
void complex_exponential(Stack* stack, size_t first, Run run) {
  const auto self = stack->at(first).toTensor().resolve_conj();
  if (self.numel() == 0 || !self.is_complex()) return run();
  const auto parts = at::view_as_real(self).to(c10::kFloat, false, /*copy=*/true);
  run();
  const auto result = stack->at(first).toTensor();
  const auto x = parts.select(-1, 0);
  const auto is_wrong = (parts.select(-1, 1) == 0) & result.isnan();
  if (!is_wrong.any().item<bool>()) return;
  write(result, at::where(is_wrong, at::complex(function(x), at::zeros_like(x)), result));
}

// One after another, as if side by side: element by element with the sum of those before it, that
// of two, of four. What is rounded to (-pi, pi] on the CPU stays as it comes.
Tensor complex_logaddexp(const Tensor& a, const Tensor& b) {
  const auto more = at::where(at::real(a) > at::real(b), a, b);
  const auto less = at::where(at::real(a) < at::real(b), a, b);
  const auto distance = less - more;
  const auto part = at::polar(at::real(distance).exp(), at::imag(distance).contiguous());
  auto sum = more + part.log1p();
  const auto infinity = std::numeric_limits<float>::infinity();
  sum = at::where((at::real(less) == -infinity) | (at::real(more) == infinity), more, sum);
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  return sum.masked_fill_(a.isnan() | b.isnan(), c10::complex<float>(nan, nan));
}

void complex_logcumsumexp(Stack* stack, size_t first, Run run) {
  const auto self = stack->at(first).toTensor();
  if (self.numel() == 0 || self.dim() == 0 || !takes(*stack, first, 2, self.scalar_type())) {
    return run();
  }
  const auto dim = c10::maybe_wrap_dim(stack->at(first + 1).toInt(), self.dim());
  auto sums = at::empty(self.sizes(), self.options().dtype(c10::kComplexFloat)).copy_(self);
  const auto length = self.size(dim);
  for (int64_t step = 1; step < length; step *= 2) {
    const auto before = sums.narrow(dim, 0, length - step);
    const auto later = complex_logaddexp(sums.narrow(dim, step, length - step), before);
    sums = at::cat({sums.narrow(dim, 0, step), later}, dim);
  }
  give(stack, first, 2, sums.to(self.scalar_type()).contiguous());
}

// ---- others

// The maximum is looked for by its distance, and rounded it is nobody's.
void cdist_backward(Stack* stack, size_t first, Run run) {
  const auto given = torch::jit::last(*stack, 5).vec();
  const auto a = given[1].toTensor();
  const auto b = given[2].toTensor();
  const auto type = a.scalar_type();
  if (!std::isinf(given[3].toDouble()) || !is_half(a) || a.numel() == 0 || b.numel() == 0) {
    return run();
  }
  const auto wide = [&](size_t i) { return given[i].toTensor().to(c10::kFloat); };
  const auto distance = at::_cdist_forward(wide(1), wide(2), given[3].toDouble(), std::nullopt);
  stack->resize(first);
  torch::jit::push(stack, wide(0), wide(1), wide(2), given[3].toDouble(), distance);
  run();
  stack->at(first) = stack->at(first).toTensor().to(type);
}

// A row of nothing but not-a-numbers has no median: the place before its first element is asked
// for, where MPSGraph finds 0.
void nanmedian(Stack* stack, size_t first, Run run) {
  const auto self = stack->at(first).toTensor();
  run();
  if (self.numel() == 0 || self.dim() == 0) return;
  const auto values = stack->at(first).toTensor();
  const auto indices = stack->at(first + 1).toTensor();
  const auto missing = values.isnan();
  if (!missing.any().item<bool>()) return;
  write(values, values.masked_fill(missing, 0));
  write(indices, indices.masked_fill(missing, 0));
}

// A Mac multiplies the reflections as whole matrices, each in the dtype that it is given.
void householder_product(Stack* stack, size_t first, Run run) {
  const auto self = stack->at(first).toTensor();
  const auto tau = stack->at(first + 1).toTensor();
  const bool fits = self.dim() >= 2 && tau.dim() == self.dim() - 1 &&
                    self.scalar_type() == tau.scalar_type() && self.size(-2) >= self.size(-1) &&
                    self.size(-1) >= tau.size(-1) &&
                    self.sizes().slice(0, self.dim() - 2) == tau.sizes().slice(0, tau.dim() - 1);
  if (!fits || self.numel() == 0 || tau.numel() == 0 ||
      !takes(*stack, first, 2, self.scalar_type())) {
    return run();
  }
  const auto rows = self.size(-2);
  const auto identity = at::eye(rows, self.options());
  Tensor product;
  for (int64_t i = 0; i < tau.size(-1); ++i) {
    // Above its place a reflector is 0, and 1 there: that much of the matrices is an identity.
    const auto below = self.select(-1, i).narrow(-1, i, rows - i).clone();
    below.select(-1, 0).fill_(1);
    const auto outer = below.unsqueeze(-1) * below.unsqueeze(-2);
    const auto reflection = identity.narrow(0, i, rows - i).narrow(1, i, rows - i) -
                            tau.select(-1, i).unsqueeze(-1).unsqueeze(-1) * outer;
    if (i == 0) {
      product = reflection;
      continue;
    }
    const auto columns = product.narrow(-1, i, rows - i);
    auto sums = at::zeros_like(columns);
    for (int64_t j = 0; j < rows - i; ++j) {
      sums.addcmul_(columns.narrow(-1, j, 1), reflection.narrow(-2, j, 1));
    }
    columns.copy_(sums);
  }
  give(stack, first, 2, product.narrow(-1, 0, self.size(-1)).mT().contiguous().mT());
}

}  // namespace

Numbers numbers_of(const std::string& op) {
  constexpr auto kFloats = kHalves | mask_of(c10::kFloat);
  constexpr auto kComplex = mask_of(c10::kComplexFloat) | mask_of(c10::kComplexHalf);
  static const std::unordered_map<std::string, Numbers> anywhere = {
      {"aten::pow.Tensor_Scalar", {power_of_tensor, kComplex}},
      {"aten::pow.Tensor_Scalar_out", {power_of_tensor, kComplex}},
      {"aten::pow_.Scalar", {in_place<power_of_tensor>, kComplex}},
      {"aten::pow.Tensor_Tensor", {power_by_tensor, kComplex}},
      {"aten::pow.Tensor_Tensor_out", {power_by_tensor, kComplex}},
      {"aten::pow_.Tensor", {in_place<power_by_tensor>, kComplex}},
      {"aten::pow.Scalar", {power_by_tensor, kComplex}},
      {"aten::pow.Scalar_out", {power_by_tensor, kComplex}},
      {"aten::exp", {complex_exponential<at::exp>, kComplex}},
      {"aten::exp_", {complex_exponential<at::exp>, kComplex}},
      {"aten::exp.out", {complex_exponential<at::exp>, kComplex}},
      {"aten::expm1", {complex_exponential<at::expm1>, kComplex}},
      {"aten::expm1_", {complex_exponential<at::expm1>, kComplex}},
      {"aten::expm1.out", {complex_exponential<at::expm1>, kComplex}},
      {"aten::_cdist_backward", {cdist_backward, kHalves}},
      {"aten::nanmedian.dim_values", {nanmedian, kFloats}},
      {"aten::_logcumsumexp", {complex_logcumsumexp, kComplex}},
      {"aten::_logcumsumexp.out", {complex_logcumsumexp, kComplex}},
      {"aten::linalg_householder_product", {householder_product, kHalves}},
      {"aten::linalg_householder_product.out", {householder_product, kHalves}},
  };
  static const std::unordered_map<std::string, Numbers> in_steps = {
      {"aten::_log_softmax", {log_softmax, kHalves}},
      {"aten::_log_softmax.out", {log_softmax, kHalves}},
      {"aten::_log_softmax_backward_data", {log_softmax_backward, kHalves}},
      {"aten::_log_softmax_backward_data.out", {log_softmax_backward, kHalves}},
      {"aten::_softmax_backward_data", {softmax_backward, kHalves}},
      {"aten::_softmax_backward_data.out", {softmax_backward, kHalves}},
  };
  auto found = anywhere.find(op);
  if (found != anywhere.end()) return found->second;
  if (!engine().rounds_softmax_in_steps()) return {};
  found = in_steps.find(op);
  return found == in_steps.end() ? Numbers() : found->second;
}

}  // namespace openmps
