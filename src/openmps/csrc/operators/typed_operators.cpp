// The operators that small models call most, each with a typed kernel (redispatch.h). Every other
// operator runs through the boxed kernel, a few hundred nanoseconds slower. To add one: its header,
// its line.
#include "operators/typed_operators.h"

#include "engine/cuda/lazy_operators.h"  // before the operator headers, which build on it
#include "operators/complex_sums.h"

#include <ATen/native/ConvUtils.h>
#include <ATen/ops/_adaptive_avg_pool2d_backward_ops.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_log_softmax_backward_data_ops.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_ops.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward_ops.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/_softmax_backward_data_ops.h>
#include <ATen/ops/abs_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/addcdiv_ops.h>
#include <ATen/ops/addcmul_ops.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/all_ops.h>
#include <ATen/ops/any_ops.h>
#include <ATen/ops/argmax_ops.h>
#include <ATen/ops/avg_pool2d_backward_ops.h>
#include <ATen/ops/baddbmm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/clamp_ops.h>
#include <ATen/ops/convolution_ops.h>
#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/convolution_native.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/dot_ops.h>
#include <ATen/ops/embedding_ops.h>
#include <ATen/ops/embedding_dense_backward_ops.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/flip_ops.h>
#include <ATen/ops/gather_ops.h>
#include <ATen/ops/ge_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/gelu_backward_ops.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/hardswish_ops.h>
#include <ATen/ops/hardswish_backward_ops.h>
#include <ATen/ops/hardtanh_ops.h>
#include <ATen/ops/hardtanh_backward_ops.h>
#include <ATen/ops/index_select_ops.h>
#include <ATen/ops/le_ops.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/leaky_relu_backward_ops.h>
#include <ATen/ops/lerp_ops.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/lt_ops.h>
#include <ATen/ops/masked_fill_ops.h>
#include <ATen/ops/max_ops.h>
#include <ATen/ops/max_pool2d_with_indices_ops.h>
#include <ATen/ops/max_pool2d_with_indices_backward_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/mse_loss_ops.h>
#include <ATen/ops/mse_loss_backward_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/native_batch_norm_ops.h>
#include <ATen/ops/native_batch_norm_backward_ops.h>
#include <ATen/ops/native_group_norm_ops.h>
#include <ATen/ops/native_group_norm_backward_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>
#include <ATen/ops/native_layer_norm_backward_ops.h>
#include <ATen/ops/ne_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/nll_loss_backward_ops.h>
#include <ATen/ops/nll_loss_forward_ops.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/rsub_native.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/sigmoid_backward_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/silu_backward_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/tanh_backward_ops.h>
#include <ATen/ops/threshold_backward_ops.h>
#include <ATen/ops/var_ops.h>
#include <ATen/ops/where_ops.h>
#include <ATen/ops/zero_ops.h>
#include <torch/library.h>

namespace openmps {
namespace {

// Typed kernels are registered when the core is loaded; what the Mac says about them comes later.
struct TypedKernel {
  std::string name;
  DtypeMask* watched;
  bool* may_mend;
};

std::vector<TypedKernel>& typed_kernels() {
  static auto* kernels = new std::vector<TypedKernel>();
  return *kernels;
}

template <class Op, class Kernel = OnBacking<Op>>
void add(torch::Library& library) {
  const std::string overload = Op::overload_name;
  const auto name = overload.empty() ? std::string(Op::name) : Op::name + ("." + overload);
  library.impl(name.c_str(), &Kernel::run);
  typed_kernels().push_back({name, &OnBacking<Op>::watched, &OnBacking<Op>::may_mend});
}

// Which arguments must be held float32, or may be, stands in narrow.h.
template <class Op, unsigned kHeld, unsigned kRounded = 0>
void add_narrow(torch::Library& library) {
  add<Op, Narrow<Op, kHeld, kRounded>>(library);
}

// Every other channel of a tensor that lies channels last, for example: the order of strides is
// that of channels last, the strides are not.
bool is_spread(const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  return (impl->is_strides_like_channels_last() || impl->is_strides_like_channels_last_3d()) &&
         tensor.suggest_memory_format(/*channels_last_strides_exact_match=*/true) ==
             at::MemoryFormat::Contiguous;
}

bool lies_channels_last(const at::Tensor& tensor) {
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
bool is_traced() { return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::Tracer); }

at::Tensor traced_convolution(const at::Tensor& input, const at::Tensor& weight,
                              const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                              c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                              bool transposed, c10::SymIntArrayRef output_padding,
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
    auto results = input.dim() == 5 && backing().is_cpu()
                       ? of_volumes(gradient, input, weight, rest...)
                       : OnBacking<Op>::run(gradient, input, weight, rest...);
    // The gradient of what was shown to a convolution as bfloat16 is shown as float32 in its turn.
    if (C10_UNLIKELY(held::any()) && held::can_be_shown(input)) held::hold(std::get<0>(results));
    return results;
  }

 private:
  // A Mac's gradient of a volume's weights lies by rows, with the same numbers for every memory
  // format; oneDNN adds up in an order of its own for each.
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

// Complex numbers of 32 bits are flipped by their parts: the backing device has no kernel for them.
struct Flip {
  static at::Tensor run(const at::Tensor& self, at::IntArrayRef dims) {
    if (C10_LIKELY(self.scalar_type() != c10::kComplexHalf)) {
      return OnBacking<at::_ops::flip>::run(self, dims);
    }
    auto of_parts = dims.vec();
    for (auto& dim : of_parts) dim = c10::maybe_wrap_dim(dim, self.dim());
    return at::view_as_complex(OnBacking<at::_ops::flip>::run(parts_of(self), of_parts));
  }
};

at::Tensor reversed_difference(const at::Tensor& self, const at::Tensor& other,
                               const at::Scalar& alpha) {
  return at::native::rsub(self, other, alpha);
}

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  add<at::_ops::add_Tensor, Sum<Narrow<at::_ops::add_Tensor, 0b11>>>(m);
  add<at::_ops::add__Tensor, SumInPlace<Narrow<at::_ops::add__Tensor, 0b11>>>(m);
  add<at::_ops::add_out, SumOut<at::_ops::add_out, at::_ops::add_Tensor>>(m);
  add<at::_ops::sub_Tensor, Sum<OnBacking<at::_ops::sub_Tensor>>>(m);
  add<at::_ops::sub__Tensor, SumInPlace<OnBacking<at::_ops::sub__Tensor>>>(m);
  add<at::_ops::sub_out, SumOut<at::_ops::sub_out, at::_ops::sub_Tensor>>(m);
  m.impl("rsub.Tensor", reversed_difference);
  add<at::_ops::mul_Tensor>(m);
  add<at::_ops::mul__Tensor>(m);
  add<at::_ops::div_Tensor>(m);
  add<at::_ops::div__Tensor>(m);
  add<at::_ops::neg>(m);
  add<at::_ops::exp>(m);
  add<at::_ops::log>(m);
  add<at::_ops::sqrt>(m);
  add<at::_ops::rsqrt>(m);
  add<at::_ops::abs>(m);
  add<at::_ops::pow_Tensor_Scalar>(m);
  add<at::_ops::tanh>(m);
  add<at::_ops::sigmoid>(m);
  add_narrow<at::_ops::relu, 0b1>(m);
  add_narrow<at::_ops::relu_, 0b1>(m);
  add<at::_ops::gelu>(m);
  add_narrow<at::_ops::silu, 0b1>(m);
  add_narrow<at::_ops::silu_, 0b1>(m);
  add_narrow<at::_ops::hardswish, 0b1>(m);
  add_narrow<at::_ops::hardswish_, 0b1>(m);
  add_narrow<at::_ops::hardtanh, 0b1>(m);
  add_narrow<at::_ops::hardtanh_, 0b1>(m);
  add_narrow<at::_ops::leaky_relu, 0b1>(m);
  add_narrow<at::_ops::leaky_relu_, 0b1>(m);
  add<at::_ops::clamp>(m);
  add<at::_ops::eq_Tensor>(m);
  add<at::_ops::eq_Scalar>(m);
  add<at::_ops::ne_Scalar>(m);
  add<at::_ops::lt_Scalar>(m);
  add<at::_ops::gt_Scalar>(m);
  add<at::_ops::le_Scalar>(m);
  add<at::_ops::ge_Scalar>(m);
  add<at::_ops::maximum>(m);
  add<at::_ops::minimum>(m);
  add<at::_ops::where_self>(m);
  add<at::_ops::masked_fill__Scalar>(m);
  add<at::_ops::zero_>(m);
  add<at::_ops::fill__Scalar>(m);
  add<at::_ops::addcmul_>(m);
  add<at::_ops::addcdiv_>(m);
  add<at::_ops::lerp__Scalar>(m);
  add<at::_ops::sum>(m);
  add<at::_ops::sum_dim_IntList>(m);
  add<at::_ops::mean_dim>(m);
  add<at::_ops::max_dim>(m);
  add<at::_ops::argmax>(m);
  add<at::_ops::any>(m);
  add<at::_ops::all>(m);
  add<at::_ops::var_correction>(m);
  add<at::_ops::mm>(m);
  add<at::_ops::addmm>(m);
  add<at::_ops::bmm>(m);
  add<at::_ops::baddbmm>(m);
  add<at::_ops::dot>(m);
  add<at::_ops::cat>(m);
  add<at::_ops::flip, Flip>(m);
  add<at::_ops::index_select>(m);
  add<at::_ops::gather>(m);
  add<at::_ops::embedding_dense_backward>(m);
  add<at::_ops::_softmax>(m);
  add<at::_ops::_softmax_backward_data>(m);
  add<at::_ops::_log_softmax>(m);
  add<at::_ops::_log_softmax_backward_data>(m);
  add<at::_ops::nll_loss_backward>(m);
  add<at::_ops::mse_loss>(m);
  add<at::_ops::mse_loss_backward>(m);
  add_narrow<at::_ops::threshold_backward, 0b10, 0b01>(m);
  add<at::_ops::tanh_backward>(m);
  add<at::_ops::sigmoid_backward>(m);
  add<at::_ops::gelu_backward>(m);
  add_narrow<at::_ops::silu_backward, 0b10, 0b01>(m);
  add_narrow<at::_ops::hardswish_backward, 0b10, 0b01>(m);
  add_narrow<at::_ops::hardtanh_backward, 0b10, 0b01>(m);
  add_narrow<at::_ops::leaky_relu_backward, 0b10, 0b01>(m);
  add<at::_ops::convolution, Convolution<at::_ops::convolution>>(m);
  add<at::_ops::convolution_backward, ConvolutionBackward<at::_ops::convolution_backward>>(m);
  add_narrow<at::_ops::max_pool2d_with_indices, 0b1>(m);
  add_narrow<at::_ops::max_pool2d_with_indices_backward, 0b10, 0b01>(m);
  add<at::_ops::avg_pool2d_backward>(m);
  add<at::_ops::_adaptive_avg_pool2d_backward>(m);
  add<at::_ops::native_layer_norm>(m);
  add<at::_ops::native_layer_norm_backward>(m);
  add<at::_ops::native_group_norm>(m);
  add<at::_ops::native_group_norm_backward>(m);
  add<at::_ops::_scaled_dot_product_flash_attention_for_cpu>(m);
  add<at::_ops::_scaled_dot_product_flash_attention_for_cpu_backward>(m);
}

// On a GPU gpu_operators.cpp has better.
void add_cpu_kernels() {
  // Registrations last as long as their library object: this one lives for ever.
  auto& m =
      *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::MPS, __FILE__, __LINE__);
  add_narrow<at::_ops::native_batch_norm, 0b1>(m);
  add_narrow<at::_ops::native_batch_norm_backward, 0b10, 0b01>(m);
  add<at::_ops::embedding>(m);
  add<at::_ops::nll_loss_forward>(m);
}

}  // namespace

void prepare_typed_kernels() {
  if (backing().is_cpu()) add_cpu_kernels();
  for (const auto& kernel : typed_kernels()) {
    const auto mac_says = what_mac_says(kernel.name);
    *kernel.watched = dtypes_to_check(kernel.name);
    if (mac_says.rules != nullptr) *kernel.watched |= mac_says.rules->special();
    *kernel.watched |= mac_says.numbers.dtypes;
    *kernel.may_mend = mac_says.mend != nullptr || mac_says.check != nullptr;
    // On a GPU arguments are looked at before the operator runs, by the general kernel.
    if (mac_says.mend != nullptr && !backing().is_cpu()) *kernel.watched = ~DtypeMask{0};
  }
}

}  // namespace openmps
