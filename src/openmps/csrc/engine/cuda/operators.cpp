#include "engine/cuda/operators.h"

#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_batch_norm_impl_index.h>
#include <ATen/ops/_batch_norm_impl_index_backward.h>
#include <ATen/ops/_fused_adam_ops.h>
#include <ATen/ops/_fused_adamw_ops.h>
#include <ATen/ops/_fused_sgd_ops.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward_ops.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_ops.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention_backward_ops.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention_ops.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward_ops.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_ops.h>
#include <ATen/ops/dropout_native.h>
#include <ATen/ops/embedding_ops.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/layer_norm_native.h>
#include <ATen/ops/linear_native.h>
#include <ATen/ops/native_batch_norm_backward_ops.h>
#include <ATen/ops/native_batch_norm_ops.h>
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/native_dropout_backward_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>
#include <ATen/ops/nll_loss_forward_ops.h>
#include <ATen/ops/ones.h>
#include <ATen/record_function.h>

#include <array>

#include "torch_interfaces/generator.h"
#include "engine/cuda/index_guards.h"
#include "operators/batch_norm.h"
#include "operators/layers.h"
#include "engine/cuda/lazy_operators.h"
#include "engine/cuda/softmax.h"
#include "engine/cuda/recurrent.h"

namespace openmps {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

// ---- batch normalisation: cuDNN's kernels where PyTorch would use them for a CUDA tensor
//
// Above the device PyTorch has chosen native_batch_norm, which to a Mac is the only one. The choice
// is made again here, and what cuDNN's backward wants to know hangs on the memory of the saved
// mean, which autograd keeps for it.

struct ForBackward {
  int64_t implementation;
  Tensor reserve;
  c10::DataPtr bytes;
};

void release_for_backward(void* context) { delete static_cast<ForBackward*>(context); }

void remember(const Tensor& saved_mean, int64_t implementation, Tensor reserve) {
  auto* twin = twin_of(*saved_mean.storage().unsafeGetStorageImpl());
  if (twin == nullptr || saved_mean.numel() == 0) return;
  auto bytes = twin->set_data_ptr(c10::DataPtr());
  void* address = bytes.get();
  const auto device = bytes.device();
  auto* context = new ForBackward{implementation, std::move(reserve), std::move(bytes)};
  twin->set_data_ptr_noswap({address, context, &release_for_backward, device});
}

const ForBackward* recall(const Tensor& saved_mean) {
  if (!is_mps(saved_mean) || !saved_mean.has_storage()) return nullptr;
  const auto* twin = twin_of(*saved_mean.storage().unsafeGetStorageImpl());
  if (twin == nullptr || twin->data_ptr().get_deleter() != &release_for_backward) return nullptr;
  return static_cast<const ForBackward*>(twin->data_ptr().get_context());
}

// The views of one call, and what an optional tensor is without them.
class Views {
 public:
  const Tensor& operator()(const Tensor& tensor) {
    return views_.at(count_++).emplace(tensor).get();
  }
  OptionalTensor operator()(const OptionalTensor& tensor) {
    return tensor ? OptionalTensor((*this)(*tensor)) : tensor;
  }
  // Rounded to bfloat16, if only because it is that already.
  const Tensor& source(const Tensor& tensor) {
    return sources_.at(source_count_++).emplace("aten::native_batch_norm", tensor).pass();
  }

 private:
  static constexpr size_t kMost = 8;
  std::array<std::optional<BackingView>, kMost> views_;
  size_t count_ = 0;
  std::array<std::optional<SourceParameter<const Tensor&>>, 2> sources_;
  size_t source_count_ = 0;
};

std::tuple<Tensor, Tensor, Tensor> cuda_batch_norm(const Tensor& input,
                                                   const OptionalTensor& weight,
                                                   const OptionalTensor& bias,
                                                   const OptionalTensor& running_mean,
                                                   const OptionalTensor& running_variance,
                                                   bool training, double momentum, double epsilon) {
  if (input.numel() == 0 || !is_mps(input)) {
    return OnBacking<at::_ops::native_batch_norm>::run(
        input, weight, bias, running_mean, running_variance, training, momentum, epsilon);
  }
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) {
    scope.begin_operation("aten::native_batch_norm", "", {&input});
  }
  const bool is_lazy = lazy::is_viewed_as(input, at::kFloat);
  Views view;
  try {
    auto [out, mean, deviation, reserve, implementation] = [&] {
      const Tracking tracking;
      const NoAlerts silent;
      return at::_batch_norm_impl_index(is_lazy ? view.source(input) : view(input), view(weight),
                                        view(bias), view(running_mean), view(running_variance),
                                        training, momentum, epsilon,
                                        at::globalContext().userEnabledCuDNN());
    }();
    auto saved = new_on_mps(std::move(mean));
    if (implementation != 0 && saved.defined()) remember(saved, implementation, reserve);
    return {is_lazy ? lazy::new_float(out) : new_on_mps(std::move(out)), saved,
            new_on_mps(std::move(deviation))};
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }
}

struct CudaBatchNorm {
  static constexpr auto run = &cuda_batch_norm;
};

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(
    const Tensor& gradient, const Tensor& input, const OptionalTensor& weight,
    const OptionalTensor& running_mean, const OptionalTensor& running_variance,
    const OptionalTensor& saved_mean, const OptionalTensor& saved_deviation, bool training,
    double epsilon, std::array<bool, 3> wanted) {
  const auto* known = saved_mean && saved_mean->defined() ? recall(*saved_mean) : nullptr;
  if (known == nullptr) {
    return OnSource<at::_ops::native_batch_norm_backward, kSecond, kFirst>::run(
        gradient, input, weight, running_mean, running_variance, saved_mean, saved_deviation,
        training, epsilon, wanted);
  }
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) {
    scope.begin_operation("aten::native_batch_norm_backward", "", {&gradient, &input});
  }
  const bool is_lazy = lazy::is_viewed_as(input, at::kFloat);
  Views view;
  try {
    auto [for_input, for_weight, for_bias] = [&] {
      const Tracking tracking;
      const NoAlerts silent;
      return at::_batch_norm_impl_index_backward(
          known->implementation, is_lazy ? view.source(input) : view(input),
          is_lazy ? view.source(gradient) : view(gradient), view(weight), view(running_mean),
          view(running_variance), view(saved_mean), view(saved_deviation), training, epsilon,
          wanted, known->reserve);
    }();
    const bool viewed = is_lazy && for_input.defined();
    return {viewed ? lazy::new_float(for_input) : new_on_mps(std::move(for_input)),
            new_on_mps(std::move(for_weight)), new_on_mps(std::move(for_bias))};
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }
}

// ---- dropout in one kernel instead of three

// Whether PyTorch itself would, on a Mac; later releases call native_dropout, too.
bool draws_a_mask_first() {
  static const bool first = [] {
    constexpr int64_t kElements = 8;
    const DrawFrom probe({/*seed=*/0, /*first=*/0});
    at::native::dropout(at::ones({kElements}, at::device(kMpsDevice)), 0.5, /*train=*/true);
    return generator_for(std::nullopt).get_offset() != kElements;
  }();
  return first;
}

// The same numbers: one word of the same block for each element, and the generator moves as far as
// for the mask that a Mac draws first.
Tensor dropout(const Tensor& input, double p, bool train) {
  if (!train || p <= 0.0 || p >= 1.0 || input.numel() == 0 || !is_mps(input) ||
      !at::isFloatingType(input.scalar_type())) {
    return at::native::dropout(input, p, train);
  }
  std::optional<DrawFrom> mask;
  if (draws_a_mask_first()) {
    mask.emplace(generator_for(std::nullopt).reserve((input.numel() + 3) / 4));
  }
  return std::get<0>(at::native_dropout(input, p, train));
}

// ---- indices that every network has, looked at on the GPU (deferred.cpp) without a stack

bool is_usual(const Tensor& values, const Tensor& index) {
  return is_mps(values) && is_plain(values) && is_mps(index) && is_plain(index) &&
         is_common_float(values.scalar_type()) &&
         (index.scalar_type() == at::kLong || index.scalar_type() == at::kInt);
}

Tensor embedding(const Tensor& weight, const Tensor& indices, c10::SymInt padding, bool scale,
                 bool sparse) {
  using Embedding = OnBacking<at::_ops::embedding>;
  if (weight.dim() != 2 || !is_usual(weight, indices)) {
    return Embedding::run_boxed(weight, indices, std::move(padding), scale, sparse);
  }
  const IndexBounds rows{0, weight.size(0), 0, kLowestIndex, kHighestIndex};
  return Embedding::run_as_given(weight,
                                 checked_indices(indices, rows, [] { return IndexErrorText(); }),
                                 std::move(padding), scale, sparse);
}

std::tuple<Tensor, Tensor> nll_loss_forward(const Tensor& self, const Tensor& target,
                                            const OptionalTensor& weight, int64_t reduction,
                                            c10::SymInt ignored) {
  using Loss = OnBacking<at::_ops::nll_loss_forward>;
  const bool is_weighted = weight && weight->defined();
  if (is_weighted || self.dim() != 2 || self.scalar_type() != at::kFloat ||
      !is_usual(self, target)) {
    return Loss::run_boxed(self, target, weight, reduction, std::move(ignored));
  }
  const auto text = [] { return IndexErrorText{"Target ", " is out of bounds.", ""}; };
  const IndexBounds classes{0, self.size(1), ignored.expect_int()};
  return Loss::run_as_given(self, checked_indices(target, classes, text), weight, reduction,
                            std::move(ignored));
}

// ---- a layer norm that nobody differentiates: one operator less, and one result instead of three

// Whether `parameter` is left out, or fits an `input` that is usual.
bool fits(const OptionalTensor& parameter, const Tensor& input) {
  if (!parameter || !parameter->defined()) return true;
  return is_mps(*parameter) && is_plain(*parameter) && parameter->dtype() == input.dtype() &&
         !is_recorded(*parameter);
}

Tensor layer_norm(const Tensor& input, c10::SymIntArrayRef shape, const OptionalTensor& weight,
                  const OptionalTensor& bias, double epsilon, bool use_cudnn) {
  const bool at_once = is_mps(input) && is_plain(input) && is_common_float(input.scalar_type()) &&
                       !is_recorded(input) && fits(weight, input) && fits(bias, input) &&
                       !profiler::wants(profiler::Kind::kOperation) && !at::hasCallbacks();
  if (at_once) {
    Views view;
    try {
      const Tracking tracking;
      const NoAlerts silent;
      const at::AutoDispatchBelowADInplaceOrView no_gradients;
      return new_on_mps(std::get<0>(at::_ops::native_layer_norm::redispatch(
          backing().keys, view(input), shape, view(weight), view(bias), epsilon)));
    } catch (const c10::Error& error) {
      if (engine().is_device_failure(error)) engine().rethrow(error);
    }
  }
  return at::native::layer_norm_symint(input, shape, weight, bias, epsilon, use_cudnn);
}

// ---- linear in one step instead of one for each operator that it is made of

// Whether nothing is to be said about such a product, on a Mac.
bool is_plain_product(const Tensor& input, const Tensor& weight) {
  const auto dtypes = mask_of(input) | mask_of(weight);
  return is_mps(input) && is_mps(weight) && input.dtype() == weight.dtype() && weight.dim() == 2 &&
         is_plain(input) && is_plain(weight) && (dtypes & OnBacking<at::_ops::addmm>::watched) == 0;
}

Tensor linear_at_once(const Tensor& input, const Tensor& weight, const OptionalTensor& bias) {
  check_linear(input, weight, bias);
  const bool has_bias = bias && bias->defined();
  if (!is_plain_product(input, weight) || (has_bias && bias->dtype() != input.dtype())) {
    return at::native::linear(input, weight, bias);
  }
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) {
    scope.begin_operation("aten::linear", "", {&input, &weight});
  }
  const BackingView x(input, /*written=*/false);
  const BackingView w(weight, /*written=*/false);
  std::optional<BackingView> b;
  if (has_bias) b.emplace(*bias, /*written=*/false);
  try {
    const Tracking tracking;
    const NoAlerts silent;
    return new_on_mps(at::native::linear(x.get(), w.get(), b ? b->get() : Tensor()));
  } catch (const c10::Error& error) {
    if (engine().is_device_failure(error)) engine().rethrow(error);
  }
  return at::native::linear(input, weight, bias);  // whose operators say what is wrong
}

// ---- an optimizer's step: hundreds of tensors in each list

// Whether the tensors that belong together lie alike; if not, the general kernel has something to
// say. Lists may be empty.
bool are_alike(std::initializer_list<at::TensorList> lists) {
  const auto first = *lists.begin();
  for (const auto list : lists) {
    if (list.empty()) continue;
    if (list.size() != first.size()) return false;
    for (size_t i = 0; i < list.size(); ++i) {
      if (!is_mps(list[i]) || list[i].dtype() != first[i].dtype() ||
          list[i].strides() != first[i].strides()) {
        return false;
      }
    }
  }
  return true;
}

template <class Op, class Signature = typename Op::schema>
struct Adam;
template <class Op, class... Rest>
struct Adam<Op, void(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                     Rest...)> {
  static void run(at::TensorList weights, at::TensorList gradients, at::TensorList averages,
                  at::TensorList squares, at::TensorList largest, Rest... rest) {
    const auto step = are_alike({weights, gradients, averages, squares, largest})
                          ? &OnBacking<Op>::run
                          : &OnBacking<Op>::run_boxed;
    step(weights, gradients, averages, squares, largest, std::forward<Rest>(rest)...);
  }
};

template <class Op, class Signature = typename Op::schema>
struct Sgd;
template <class Op, class... Rest>
struct Sgd<Op, void(at::TensorList, at::TensorList, at::TensorList, Rest...)> {
  static void run(at::TensorList weights, at::TensorList gradients, at::TensorList momenta,
                  Rest... rest) {
    const auto step =
        are_alike({weights, gradients, momenta}) ? &OnBacking<Op>::run : &OnBacking<Op>::run_boxed;
    step(weights, gradients, momenta, std::forward<Rest>(rest)...);
  }
};

template <class Op>
void run_typed(Registrar& registrar) {
  const auto name = full_name<Op>();
  registrar.impl(name, &OnBacking<Op>::run);
}

}  // namespace

void register_cuda_operators(Registrar& m) {
  // What engine/cuda/attention.cpp chooses among.
  run_typed<at::_ops::_scaled_dot_product_flash_attention>(m);
  run_typed<at::_ops::_scaled_dot_product_flash_attention_backward>(m);
  run_typed<at::_ops::_scaled_dot_product_efficient_attention>(m);
  run_typed<at::_ops::_scaled_dot_product_efficient_attention_backward>(m);
  run_typed<at::_ops::_scaled_dot_product_cudnn_attention>(m);
  run_typed<at::_ops::_scaled_dot_product_cudnn_attention_backward>(m);
  m.impl("native_batch_norm", BatchNorm<CudaBatchNorm>::run);
  m.impl("native_batch_norm_backward", batch_norm_backward);
  m.impl("embedding", embedding);
  m.impl("nll_loss_forward", nll_loss_forward);
  m.impl("_fused_adam_", &Adam<at::_ops::_fused_adam_>::run);
  m.impl("_fused_adamw_", &Adam<at::_ops::_fused_adamw_>::run);
  m.impl("_fused_sgd_", &Sgd<at::_ops::_fused_sgd_>::run);
  run_typed<at::_ops::native_dropout_backward>(m);
  m.impl("linear", linear_at_once);
  register_softmax(m);
  m.impl_with_autograd("dropout", dropout);
  m.impl_with_autograd("layer_norm", layer_norm);
  register_recurrent_on_cuda(m);
}

}  // namespace openmps
