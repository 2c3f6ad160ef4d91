// To add a typed kernel, include the header of its operator and add a line to add_all. Every other
// operator runs through the boxed kernel (dispatch/boxed.h), a few hundred nanoseconds slower.
#include "operators/typed_operators.h"

#include "operators/batch_norm.h"
#include "operators/complex_sums.h"
#include "operators/convolution.h"
#include "operators/group_norm.h"
#include "operators/indexing.h"

#include <ATen/ops/_adaptive_avg_pool2d_backward_ops.h>
#include <ATen/ops/_native_batch_norm_legit_ops.h>
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
#include <ATen/ops/amax_ops.h>
#include <ATen/ops/amin_ops.h>
#include <ATen/ops/any_ops.h>
#include <ATen/ops/argmax_ops.h>
#include <ATen/ops/avg_pool2d_ops.h>
#include <ATen/ops/avg_pool2d_backward_ops.h>
#include <ATen/ops/baddbmm_ops.h>
#include <ATen/ops/bitwise_and_ops.h>
#include <ATen/ops/bitwise_not_ops.h>
#include <ATen/ops/bitwise_or_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/clamp_ops.h>
#include <ATen/ops/clamp_min_ops.h>
#include <ATen/ops/convolution_ops.h>
#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/cos_ops.h>
#include <ATen/ops/cumsum_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/dot_ops.h>
#include <ATen/ops/elu_ops.h>
#include <ATen/ops/elu_backward_ops.h>
#include <ATen/ops/embedding_ops.h>
#include <ATen/ops/embedding_dense_backward_ops.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/erf_ops.h>
#include <ATen/ops/exp2_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/flip_ops.h>
#include <ATen/ops/floor_ops.h>
#include <ATen/ops/gather_ops.h>
#include <ATen/ops/ge_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/gelu_backward_ops.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/hardsigmoid_ops.h>
#include <ATen/ops/hardswish_ops.h>
#include <ATen/ops/hardswish_backward_ops.h>
#include <ATen/ops/hardtanh_ops.h>
#include <ATen/ops/hardtanh_backward_ops.h>
#include <ATen/ops/index_add_ops.h>
#include <ATen/ops/index_select_ops.h>
#include <ATen/ops/le_ops.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/leaky_relu_backward_ops.h>
#include <ATen/ops/lerp_ops.h>
#include <ATen/ops/linalg_vector_norm_ops.h>
#include <ATen/ops/log1p_ops.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/logical_and_ops.h>
#include <ATen/ops/logical_not_ops.h>
#include <ATen/ops/lt_ops.h>
#include <ATen/ops/masked_fill_ops.h>
#include <ATen/ops/max_ops.h>
#include <ATen/ops/max_pool2d_with_indices_ops.h>
#include <ATen/ops/max_pool2d_with_indices_backward_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/mish_ops.h>
#include <ATen/ops/mish_backward_ops.h>
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
#include <ATen/ops/prod_ops.h>
#include <ATen/ops/reciprocal_ops.h>
#include <ATen/ops/reflection_pad2d_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/remainder_ops.h>
#include <ATen/ops/roll_ops.h>
#include <ATen/ops/round_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/rsub_native.h>
#include <ATen/ops/scatter_ops.h>
#include <ATen/ops/scatter_add_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/sigmoid_backward_ops.h>
#include <ATen/ops/sign_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/silu_backward_ops.h>
#include <ATen/ops/sin_ops.h>
#include <ATen/ops/softplus_ops.h>
#include <ATen/ops/softplus_backward_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/std_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/tanh_backward_ops.h>
#include <ATen/ops/threshold_backward_ops.h>
#include <ATen/ops/topk_ops.h>
#include <ATen/ops/upsample_bilinear2d_ops.h>
#include <ATen/ops/upsample_bilinear2d_backward_ops.h>
#include <ATen/ops/upsample_nearest2d_ops.h>
#include <ATen/ops/upsample_nearest2d_backward_ops.h>
#include <ATen/ops/var_ops.h>
#include <ATen/ops/where_ops.h>
#include <ATen/ops/zero_ops.h>
#include <torch/library.h>

namespace openmps {
namespace {

// Their masks are filled in when all are registered.
struct TypedKernel {
  std::string name;
  DtypeMask* watched;
  bool* may_repair;
};

std::vector<TypedKernel>& typed_kernels() {
  static auto* kernels = new std::vector<TypedKernel>();
  return *kernels;
}

template <class Op, class Kernel = OnBacking<Op>>
void add(Registrar& registrar) {
  const auto name = full_name<Op>();
  registrar.impl(name, &Kernel::run);
  typed_kernels().push_back({name, &OnBacking<Op>::watched, &OnBacking<Op>::may_repair});
}

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

void add_all(Registrar& m) {
  add<at::_ops::add_Tensor, Sum<OnBacking<at::_ops::add_Tensor>>>(m);
  add<at::_ops::add__Tensor, SumInPlace<OnBacking<at::_ops::add__Tensor>>>(m);
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
  add<at::_ops::tanh_>(m);
  add<at::_ops::sigmoid>(m);
  add<at::_ops::sigmoid_>(m);
  add<at::_ops::relu>(m);
  add<at::_ops::relu_>(m);
  add<at::_ops::gelu>(m);
  add<at::_ops::silu>(m);
  add<at::_ops::silu_>(m);
  add<at::_ops::hardswish>(m);
  add<at::_ops::hardswish_>(m);
  add<at::_ops::hardtanh>(m);
  add<at::_ops::hardtanh_>(m);
  add<at::_ops::leaky_relu>(m);
  add<at::_ops::leaky_relu_>(m);
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
  add<at::_ops::threshold_backward>(m);
  add<at::_ops::tanh_backward>(m);
  add<at::_ops::sigmoid_backward>(m);
  add<at::_ops::gelu_backward>(m);
  add<at::_ops::silu_backward>(m);
  add<at::_ops::hardswish_backward>(m);
  add<at::_ops::hardtanh_backward>(m);
  add<at::_ops::leaky_relu_backward>(m);
  add<at::_ops::convolution, Convolution<at::_ops::convolution>>(m);
  add<at::_ops::convolution_backward, ConvolutionBackward<at::_ops::convolution_backward>>(m);
  add<at::_ops::max_pool2d_with_indices>(m);
  add<at::_ops::max_pool2d_with_indices_backward>(m);
  add<at::_ops::avg_pool2d_backward>(m);
  add<at::_ops::_adaptive_avg_pool2d_backward>(m);
  add<at::_ops::native_layer_norm>(m);
  add<at::_ops::native_layer_norm_backward>(m);
  add<at::_ops::native_group_norm, GroupNorm<at::_ops::native_group_norm>>(m);
  add<at::_ops::native_group_norm_backward,
      GroupNormBackward<at::_ops::native_group_norm_backward>>(m);
  add<at::_ops::_scaled_dot_product_flash_attention_for_cpu>(m);
  add<at::_ops::_scaled_dot_product_flash_attention_for_cpu_backward>(m);
  add<at::_ops::native_batch_norm, BatchNorm<OnBacking<at::_ops::native_batch_norm>>>(m);
  add<at::_ops::native_batch_norm_backward>(m);
  add<at::_ops::embedding>(m);
  add<at::_ops::nll_loss_forward>(m);
  add<at::_ops::index_Tensor, Index>(m);
  add<at::_ops::sort_stable, Sort>(m);
  add<at::_ops::bitwise_and_Tensor>(m);
  add<at::_ops::bitwise_not>(m);
  add<at::_ops::bitwise_or_Tensor>(m);
  add<at::_ops::logical_and>(m);
  add<at::_ops::logical_not>(m);
  add<at::_ops::cos>(m);
  add<at::_ops::sin>(m);
  add<at::_ops::reciprocal>(m);
  add<at::_ops::erf>(m);
  add<at::_ops::log1p>(m);
  add<at::_ops::floor>(m);
  add<at::_ops::round>(m);
  add<at::_ops::sign>(m);
  add<at::_ops::exp2>(m);
  add<at::_ops::softplus>(m);
  add<at::_ops::softplus_backward>(m);
  add<at::_ops::mish>(m);
  add<at::_ops::mish_backward>(m);
  add<at::_ops::elu>(m);
  add<at::_ops::elu_backward>(m);
  add<at::_ops::hardsigmoid>(m);
  add<at::_ops::clamp_min>(m);
  add<at::_ops::clamp_>(m);
  add<at::_ops::pow_Tensor_Tensor>(m);
  add<at::_ops::remainder_Tensor>(m);
  add<at::_ops::div_Tensor_mode>(m);
  add<at::_ops::addcmul>(m);
  add<at::_ops::addcdiv>(m);
  add<at::_ops::lerp_Scalar>(m);
  add<at::_ops::ne_Tensor>(m);
  add<at::_ops::lt_Tensor>(m);
  add<at::_ops::gt_Tensor>(m);
  add<at::_ops::le_Tensor>(m);
  add<at::_ops::ge_Tensor>(m);
  add<at::_ops::masked_fill__Tensor>(m);
  add<at::_ops::amax>(m);
  add<at::_ops::amin>(m);
  add<at::_ops::max>(m);
  add<at::_ops::cumsum>(m);
  add<at::_ops::topk>(m);
  add<at::_ops::prod_dim_int>(m);
  add<at::_ops::std_correction>(m);
  add<at::_ops::linalg_vector_norm>(m);
  add<at::_ops::roll>(m);
  add<at::_ops::scatter_add>(m);
  add<at::_ops::scatter_value>(m);
  add<at::_ops::index_add>(m);
  add<at::_ops::avg_pool2d>(m);
  add<at::_ops::upsample_nearest2d>(m);
  add<at::_ops::upsample_nearest2d_backward>(m);
  add<at::_ops::upsample_bilinear2d>(m);
  add<at::_ops::upsample_bilinear2d_backward>(m);
  add<at::_ops::reflection_pad2d>(m);
  add<at::_ops::sqrt_>(m);
  add<at::_ops::_native_batch_norm_legit>(m);
}

}  // namespace

void register_typed_operators(Registrar& registrar) {
  add_all(registrar);
  for (const auto& kernel : typed_kernels()) {
    const auto operator_rules = rules_of_operator(kernel.name);
    *kernel.watched = dtypes_to_check(kernel.name);
    if (operator_rules.dtypes != nullptr) *kernel.watched |= operator_rules.dtypes->special();
    *kernel.watched |= operator_rules.numbers.dtypes;
    if (operator_rules.half != nullptr) *kernel.watched |= kHalves;
    // A number may stand for a tensor: in double precision, and without a dtype of its own.
    if ((*kernel.watched & mask_of(c10::kFloat)) != 0) *kernel.watched |= mask_of(c10::kDouble);
    *kernel.may_repair = operator_rules.repair != nullptr || operator_rules.check != nullptr;
    // Where indices are checked first, the boxed kernel does it.
    if (operator_rules.repair != nullptr && engine().checks_indices_first()) {
      *kernel.watched = ~DtypeMask{0};
    }
  }
}

}  // namespace openmps
