// Convolutions and their gradients: the memory formats that a Mac's results have.
#pragma once

#include <ATen/native/ConvUtils.h>
#include <ATen/ops/convolution_native.h>

#include <optional>
#include <tuple>
#include <utility>

#include "dispatch/typed.h"
#include "engine/engine.h"

namespace openmps {

// Every other channel of a tensor that lies channels last, for example: the order of strides is
// that of channels last, the strides are not.
inline bool is_spread(const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  return (impl->is_strides_like_channels_last() || impl->is_strides_like_channels_last_3d()) &&
         tensor.suggest_memory_format(/*channels_last_strides_exact_match=*/true) ==
             at::MemoryFormat::Contiguous;
}

inline bool lies_channels_last(const at::Tensor& tensor) {
  return tensor.suggest_memory_format(/*channels_last_strides_exact_match=*/true) !=
         at::MemoryFormat::Contiguous;
}

// The backing device goes by the order of strides; a Mac, since torch 2.13, by the strides. What it
// does not take for channels last becomes contiguous.
struct ConvolutionLayout {
  ConvolutionLayout(const at::Tensor& input, const at::Tensor& weight) {
    if (C10_LIKELY(!is_spread(input) && !is_spread(weight))) return;
    if (at::native::mps_conv_use_channels_last(input, weight)) return;
    copies.emplace(input.contiguous(), weight.contiguous());
  }
  std::optional<std::pair<at::Tensor, at::Tensor>> copies;
};

// Of convolutions torch.jit.trace writes down what they call, which must not be on backing tensors:
// a program would be left that takes its example for a constant.
inline bool is_traced() {
  return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::Tracer);
}

inline at::Tensor traced_convolution(const at::Tensor& input, const at::Tensor& weight,
                                     const std::optional<at::Tensor>& bias,
                                     c10::SymIntArrayRef stride, c10::SymIntArrayRef padding,
                                     c10::SymIntArrayRef dilation, bool transposed,
                                     c10::SymIntArrayRef output_padding,
                                     const c10::SymInt& groups) {
  return at::native::convolution(
      input, weight, bias, C10_AS_INTARRAYREF_SLOW(stride), C10_AS_INTARRAYREF_SLOW(padding),
      C10_AS_INTARRAYREF_SLOW(dilation), transposed, C10_AS_INTARRAYREF_SLOW(output_padding),
      groups.guard_int(__FILE__, __LINE__));
}

template <class Op, class Signature = typename Op::schema>
struct Convolution;
template <class Op, class Result, class... Rest>
struct Convolution<Op, Result(const at::Tensor&, const at::Tensor&, Rest...)> {
  static Result run(const at::Tensor& input, const at::Tensor& weight, Rest... rest) {
    if (C10_UNLIKELY(is_traced())) return traced_convolution(input, weight, rest...);
    const ConvolutionLayout laid(input, weight);
    if (C10_LIKELY(!laid.copies)) return OnBacking<Op>::run(input, weight, rest...);
    return OnBacking<Op>::run(laid.copies->first, laid.copies->second, rest...);
  }
};

template <class Op, class Signature = typename Op::schema>
struct ConvolutionBackward;
template <class Op, class Result, class... Rest>
struct ConvolutionBackward<Op, Result(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                      Rest...)> {
  static Result run(const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight,
                    Rest... rest) {
    const ConvolutionLayout laid(input, weight);
    if (C10_UNLIKELY(laid.copies.has_value())) {
      return OnBacking<Op>::run(gradient.contiguous(), laid.copies->first, laid.copies->second,
                                rest...);
    }
    return input.dim() == 5 && engine().weight_gradients_depend_on_layout()
               ? of_volumes(gradient, input, weight, rest...)
               : OnBacking<Op>::run(gradient, input, weight, rest...);
  }

 private:
  // A Mac's gradient of a volume's weights lies by rows, with the same numbers for every memory
  // format.
  static Result of_volumes(const at::Tensor& gradient, const at::Tensor& input,
                           const at::Tensor& weight, Rest... rest) {
    auto& wanted = std::get<sizeof...(Rest) - 1>(std::tie(rest...));
    const bool of_parameters = wanted[1] || wanted[2];
    if (!of_parameters || (!lies_channels_last(input) && !lies_channels_last(weight))) {
      return OnBacking<Op>::run(gradient, input, weight, rest...);
    }
    at::Tensor for_input;
    if (std::exchange(wanted[0], false)) {
      auto others = std::exchange(wanted, {true, false, false});
      for_input = std::get<0>(OnBacking<Op>::run(gradient, input, weight, rest...));
      wanted = others;
    }
    auto results =
        OnBacking<Op>::run(gradient.contiguous(), input.contiguous(), weight.contiguous(), rest...);
    std::get<0>(results) = std::move(for_input);
    return results;
  }
};

}  // namespace openmps
