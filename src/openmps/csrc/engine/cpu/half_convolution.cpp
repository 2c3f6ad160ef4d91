#include "engine/cpu/half_convolution.h"

#include <ATen/Parallel.h>
#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/convolution_ops.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "engine/cpu/half_products.h"
#include "engine/cpu/half_support.h"
#include "engine/engine.h"
#include "tensor/allocation_tracker.h"

namespace openmps::half {
namespace {

using at::Tensor;
using torch::jit::Stack;

// Numbers of the input that are float32 at a time, per thread: what is left in a cache is not read
// from memory again.
constexpr int64_t kNumbersOfInput = int64_t{1} << 19;

bool takes(c10::ScalarType type) {
  return is_half(type) && !(type == c10::kBFloat16 && has_bfloat16_products());
}

// Of a convolution, from its input on.
struct Arguments {
  Arguments(const Stack& stack, size_t at)
      : stride(stack.at(at).toIntVector()),
        padding(stack.at(at + 1).toIntVector()),
        dilation(stack.at(at + 2).toIntVector()),
        transposed(stack.at(at + 3).toBool()),
        output_padding(stack.at(at + 4).toIntVector()),
        groups(stack.at(at + 5).toInt()) {}

  Tensor operator()(const Tensor& input, const Tensor& weight,
                    const std::optional<Tensor>& bias) const {
    return at::_ops::convolution::redispatch(
        backing().keys, input, weight, bias, c10::fromIntArrayRefSlow(stride),
        c10::fromIntArrayRefSlow(padding), c10::fromIntArrayRefSlow(dilation), transposed,
        c10::fromIntArrayRefSlow(output_padding), groups);
  }

  std::vector<int64_t> stride;
  std::vector<int64_t> padding;
  std::vector<int64_t> dilation;
  bool transposed;
  std::vector<int64_t> output_padding;
  int64_t groups;
};

bool has_batch(const Tensor& input, const Tensor& weight) {
  return input.dim() == weight.dim() && input.dim() >= 3;
}

}  // namespace

bool convolution(Stack* stack, size_t first) {
  const auto input = stack->at(first).toTensor();
  const auto weight = stack->at(first + 1).toTensor();
  const auto bias = stack->at(first + 2).toOptional<Tensor>();
  const auto type = input.scalar_type();
  if (!takes(type) || !is_usual(input, type) || !is_usual(weight, type)) return false;
  if (bias && bias->defined() && !is_usual(*bias, type)) return false;
  if (!has_batch(input, weight)) return false;
  const Arguments arguments(*stack, first + 3);

  const Tracking untracked(false);
  const auto wide_weight = widened(weight);
  const auto wide_bias = bias && bias->defined() ? std::optional(widened(*bias)) : std::nullopt;
  const auto batch = input.size(0);
  const auto one = input.numel() / batch;
  const auto at_once = std::clamp<int64_t>(kNumbersOfInput * at::get_num_threads() / one, 1, batch);
  const auto piece_of = [&](int64_t begin) {
    const BackingView view(input, /*written=*/false);
    const auto piece = view.get().narrow(0, begin, std::min(at_once, batch - begin));
    return arguments(piece.to(c10::kFloat), wide_weight, wide_bias);
  };
  Tensor piece = piece_of(0);
  Tensor out;
  if (at_once == batch) {
    out = narrowed(piece, type);
  } else {
    auto sizes = piece.sizes().vec();
    sizes[0] = batch;
    {
      const Tracking tracked;
      out = at::empty(sizes, input.options().memory_format(piece.suggest_memory_format()));
    }
    const BackingView view(out);
    for (int64_t begin = 0; begin < batch; begin += at_once) {
      if (begin > 0) piece = piece_of(begin);
      view.get().narrow(0, begin, piece.size(0)).copy_(piece);
    }
  }
  stack->resize(first);
  stack->emplace_back(std::move(out));
  return true;
}

bool convolution_backward(Stack* stack, size_t first) {
  const auto gradient = stack->at(first).toTensor();
  const auto input = stack->at(first + 1).toTensor();
  const auto weight = stack->at(first + 2).toTensor();
  const auto type = input.scalar_type();
  if (!takes(type) || !has_batch(input, weight)) return false;
  for (const auto* tensor : {&gradient, &input, &weight}) {
    if (!is_usual(*tensor, type)) return false;
  }
  const auto bias_sizes = stack->at(first + 3).toOptional<std::vector<int64_t>>();
  const Arguments arguments(*stack, first + 4);
  const auto wanted = stack->at(first + 10).toBoolList();

  const Tracking untracked(false);
  const auto symbolic = bias_sizes
                            ? at::OptionalSymIntArrayRef(c10::fromIntArrayRefSlow(*bias_sizes))
                            : at::OptionalSymIntArrayRef();
  auto [of_input, of_weight, of_bias] = at::_ops::convolution_backward::redispatch(
      backing().keys, widened(gradient), widened(input), widened(weight), symbolic,
      c10::fromIntArrayRefSlow(arguments.stride), c10::fromIntArrayRefSlow(arguments.padding),
      c10::fromIntArrayRefSlow(arguments.dilation), arguments.transposed,
      c10::fromIntArrayRefSlow(arguments.output_padding), arguments.groups,
      std::array<bool, 3>{wanted[0], wanted[1], wanted[2]});
  stack->resize(first);
  for (const auto* wide : {&of_input, &of_weight, &of_bias}) {
    stack->emplace_back(wide->defined() ? narrowed(*wide, type) : Tensor());
  }
  return true;
}

}  // namespace openmps::half
