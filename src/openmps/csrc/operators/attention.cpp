// PyTorch's own version asks a dispatch stub which kernel to use, and on Linux the stub has no mps
// slot and asserts. Here the engine chooses, by asking its device about tensors of the same shape;
// the chosen operator then runs on the mps tensors as any other does, and autograd, which sees only
// that operator, works as usual.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_attention_math_for_mps_ops.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "engine/engine.h"
#include "mac/mac.h"
#include "mac/rules.h"
#include "operators/attention.h"
#include "operators/recurrent.h"
#include "profiler/profiler.h"
#include "tensor/header.h"
#include "torch_interfaces/no_warnings.h"

namespace openmps {
namespace {

using at::Tensor;

constexpr const char* kAttention = "aten::scaled_dot_product_attention";
constexpr c10::DispatchKeySet kWrappers({c10::DispatchKey::FuncTorchGradWrapper,
                                         c10::DispatchKey::FuncTorchBatched});

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value,
                  const std::optional<Tensor>& mask) {
  TORCH_CHECK(
      query.dtype() == key.dtype() && query.dtype() == value.dtype(),
      "Expected query, key, and value to have the same dtype, but got query.dtype: ", query.dtype(),
      " key.dtype: ", key.dtype(), " and value.dtype: ", value.dtype(), " instead.");
  TORCH_CHECK(query.device() == key.device() && query.device() == value.device(),
              "Expected query, key, and value to have the same device type, but got query.device: ",
              query.device(), " key.device: ", key.device(), " and value.device: ", value.device(),
              " instead.");
  TORCH_CHECK(
      query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
      "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ",
      query.dim(), " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  if (!mask) return;
  TORCH_CHECK(
      mask->dtype() == at::kBool || mask->dtype() == at::kFloat || mask->dtype() == query.dtype(),
      "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
      "attn_mask.dtype: ",
      mask->dtype(), " and  query.dtype: ", query.dtype(), " instead.");
}

bool is_symbolic(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

// Of a symbol nobody is asked: what is traced is the usual case.
bool is_empty(const Tensor& query, const Tensor& value) {
  if (!is_symbolic(query) && !is_symbolic(value)) return value.numel() == 0 || query.size(-2) == 0;
  return TORCH_GUARD_OR_FALSE(value.sym_numel().sym_eq(0)) ||
         TORCH_GUARD_OR_FALSE(query.sym_size(-2).sym_eq(0));
}

Tensor shape_for_choice(const Tensor& tensor) {
  auto shape = shape_only(tensor);
  if (tensor.requires_grad()) shape.set_requires_grad(true);  // some kernels have no backward
  return shape;
}

// True means "attend": turn it into something to add to the scores.
std::optional<Tensor> additive(const std::optional<Tensor>& mask, caffe2::TypeMeta dtype) {
  if (!mask || mask->dtype() != at::kBool) return mask;
  const auto masked =
      at::scalar_tensor(-std::numeric_limits<double>::infinity(), mask->options().dtype(dtype));
  return at::where(*mask, 0.0, masked);
}

// For each query, the keys that do not come after it.
Tensor not_after(const Tensor& query, const Tensor& key) {
  return at::ones({query.size(-2), key.size(-2)}, query.options().dtype(at::kBool)).tril();
}

// Under torch.func the tensors are wrappers without bytes, which no fused kernel could take.
Tensor wrapped_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                         const std::optional<Tensor>& mask, double dropout, bool causal,
                         std::optional<double> scale, bool grouped) {
  if (!query.device().is_mps()) {
    return at::native::scaled_dot_product_attention(query, key, value, mask, dropout, causal, scale,
                                                    grouped);
  }
  check_inputs(query, key, value, mask);
  return std::get<0>(at::_scaled_dot_product_attention_math(
      query, key, value, additive(mask, query.dtype()), dropout, causal,
      /*dropout_mask=*/std::nullopt, scale, grouped));
}

// A Mac's kernels write their output row by row, and torch.compile relies on it. An engine's fused
// ones may lay it as the next layer reads it: for their speed it is left so, unless the operator is
// called by its own name, as compiled code does.
class AsLaid {
 public:
  explicit AsLaid(bool allowed) : before_(allowed_) { allowed_ = allowed; }
  ~AsLaid() { allowed_ = before_; }

  static Tensor row_by_row(const Tensor& out) { return allowed_ ? out : out.contiguous(); }

 private:
  static thread_local bool allowed_;
  const bool before_;
};
thread_local bool AsLaid::allowed_ = false;

using MathForMps = at::_ops::_scaled_dot_product_attention_math_for_mps;

template <class Function>
struct Arity;
template <class Result, class... Args>
struct Arity<Result(Args...)> : std::integral_constant<size_t, sizeof...(Args)> {};

// torch 2.11's operator wants as many heads in the keys as in the queries.
template <class Op>
constexpr bool kTakesGroups = Arity<typename Op::schema>::value == 9;

template <class Op = MathForMps>
Tensor without_gradients(const Tensor& query, const Tensor& key, const Tensor& value,
                         const std::optional<Tensor>& bias, double dropout, bool causal,
                         std::optional<double> scale, bool grouped) {
  const std::optional<Tensor> no_mask;
  if constexpr (kTakesGroups<Op>) {
    return std::get<0>(Op::call(query, key, value, bias, dropout, causal, no_mask, scale, grouped));
  } else {
    const auto repeats = grouped ? query.sym_size(-3) / key.sym_size(-3) : c10::SymInt(1);
    const auto repeated = [&](const Tensor& heads) {
      return grouped ? heads.repeat_interleave_symint(repeats, -3) : heads;
    };
    return std::get<0>(
        Op::call(query, repeated(key), repeated(value), bias, dropout, causal, no_mask, scale));
  }
}

std::tuple<Tensor, Tensor> attention_math_for_mps(const Tensor& query, const Tensor& key,
                                                  const Tensor& value,
                                                  const std::optional<Tensor>& mask, double dropout,
                                                  bool causal, const std::optional<Tensor>&,
                                                  std::optional<double> scale, bool grouped);

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const std::optional<Tensor>& mask, double dropout, bool causal,
                 std::optional<double> scale, bool grouped) {
  if (query.key_set().has_any(kWrappers)) {
    return wrapped_attention(query, key, value, mask, dropout, causal, scale, grouped);
  }
  check_inputs(query, key, value, mask);
  if (is_empty(query, value)) {
    auto shape = query.sym_sizes().vec();
    shape.back() = value.sym_size(-1);
    // Depends on every input, so that backward() gives each a gradient of zeros.
    return at::zeros_symint(shape, query.options()) + (query.sum() + key.sum() + value.sum()) * 0;
  }
  const auto bias = additive(mask, query.dtype());
  if (AttentionInputs{query, key, value, bias, dropout, causal, scale, grouped}.needs_gradient()) {
    // The plain formula's own check; some of a GPU's fused kernels would take both.
    TORCH_CHECK(!bias || !causal || !refuses(kAttention, "a mask beside is_causal=True"),
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                "is_causal=True");
    return engine().attention({query, key, value, bias, dropout, causal, scale, grouped});
  }
  const AsLaid fast(engine().keeps_result_layout());
  const AttentionInputs inputs{query, key, value, bias, dropout, causal, scale, grouped};
  if (engine().has_fused_inference_attention(inputs) && !is_any_watched() && !at::hasCallbacks()) {
    // By its name it may not take grouped heads (torch 2.11), which would be copied to be alike.
    return std::get<0>(attention_math_for_mps(query, key, value, bias, dropout, causal,
                                              /*dropout_mask=*/std::nullopt, scale, grouped));
  }
  // Autograd has nothing to record, and its way around an operator without a gradient is slow.
  const at::AutoDispatchBelowADInplaceOrView no_gradients;
  return without_gradients(query, key, value, bias, dropout, causal, scale, grouped);
}

bool has_kernel_for_long_queries(const Tensor& query, const Tensor& value) {
  const char* disabled = std::getenv("PYTORCH_MPS_DISABLE_PREFILL_ATTENTION");
  if (disabled != nullptr && std::strcmp(disabled, "0") != 0) return false;
  const auto size = query.size(-1);
  return query.size(-2) > 8 && size == value.size(-1) &&
         std::find(kPrefillHeadSizes.begin(), kPrefillHeadSizes.end(), size) !=
             kPrefillHeadSizes.end();
}

// A Mac's own operator for attention without gradients. Its fast kernels, too, give the output in
// the place of the weights.
std::tuple<Tensor, Tensor> attention_math_for_mps(const Tensor& query, const Tensor& key,
                                                  const Tensor& value,
                                                  const std::optional<Tensor>& mask, double dropout,
                                                  bool causal, const std::optional<Tensor>&,
                                                  std::optional<double> scale, bool grouped) {
  const AttentionInputs given{query, key, value, mask, dropout, causal, scale, grouped};
  const bool at_once = engine().has_fused_inference_attention(given);
  std::optional<ledger::UntracedOperator> own;
  if (!at_once) own.emplace(MathForMps::name);
  for (const auto* tensor : {&query, &key, &value}) {
    TORCH_CHECK_NOT_IMPLEMENTED(c10::isFloatingType(tensor->scalar_type()) ||
                                    !refuses(kAttention, "a dtype that is not floating"),
                                "scaled_dot_product_attention for MPS does not support dtype ",
                                tensor->scalar_type());
  }
  TORCH_CHECK_NOT_IMPLEMENTED(dropout == 0.0 || !refuses(kAttention, "dropout"),
                              "scaled_dot_product_attention for MPS does not support dropout.");
  if (grouped) {
    const auto heads = query.size(-3);
    const auto groups = key.size(-3);
    TORCH_CHECK(heads % groups == 0, "For GQA, the query tensor's head dimension (", heads,
                ") must be divisible by the key tensor's head dimension (", groups, ").");
  }
  auto bias = additive(mask, query.dtype());
  if (bias && causal) {  // which only its kernel for long queries takes together
    TORCH_CHECK(has_kernel_for_long_queries(query, value),
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                "is_causal=True");
    bias = at::where(not_after(query, key), *bias, -std::numeric_limits<double>::infinity());
    causal = false;
  }
  const AttentionInputs inputs{query, key, value, bias, dropout, causal, scale, grouped};
  const auto out = AsLaid::row_by_row(at_once ? engine().fused_inference_attention(inputs)
                                              : engine().attention(inputs));
  return {out, out};
}

std::tuple<Tensor, Tensor> ungrouped_math_for_mps(const Tensor& query, const Tensor& key,
                                                  const Tensor& value,
                                                  const std::optional<Tensor>& mask, double dropout,
                                                  bool causal,
                                                  const std::optional<Tensor>& dropout_mask,
                                                  std::optional<double> scale) {
  return attention_math_for_mps(query, key, value, mask, dropout, causal, dropout_mask, scale,
                                /*grouped=*/false);
}

// One function for both keys: it is made of other operators, so it records its own gradient.
TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("scaled_dot_product_attention", attention);
  constexpr const char* kMathForMps = "_scaled_dot_product_attention_math_for_mps";
  if constexpr (kTakesGroups<MathForMps>) {
    m.impl(kMathForMps, attention_math_for_mps);
  } else {
    m.impl(kMathForMps, ungrouped_math_for_mps);
  }
}
TORCH_LIBRARY_IMPL(aten, AutogradMPS, m) { m.impl("scaled_dot_product_attention", attention); }
// torch.func's wrappers of mps tensors do not say that they are mps: their gradients come here.
TORCH_LIBRARY_IMPL(aten, AutogradOther, m) {
  m.impl("scaled_dot_product_attention", wrapped_attention);
}

}  // namespace

bool AttentionInputs::needs_gradient() const {
  return at::GradMode::is_enabled() &&
         (query.requires_grad() || key.requires_grad() || value.requires_grad());
}

bool AttentionInputs::is_symbolic() const {
  return openmps::is_symbolic(query) || openmps::is_symbolic(key) || openmps::is_symbolic(value);
}

Tensor plain_attention(const AttentionInputs& in) {
  return std::get<0>(at::_scaled_dot_product_attention_math(
      in.query, in.key, in.value, in.bias, in.dropout, in.causal, /*dropout_mask=*/std::nullopt,
      in.scale, in.grouped));
}

// Straight to the device's kernel, which looks at shapes only, with every layer above it switched
// off: torch.compile, which traces this function with fake tensors, must not see them.
int64_t choose_attention_kernel(const AttentionInputs& in) {
  constexpr c10::DispatchKeySet kAbove =
      c10::DispatchKeySet(c10::DispatchKeySet::FULL) -
      c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::ADInplaceOrView);
  const c10::impl::ExcludeDispatchKeyGuard only_the_kernel(kAbove);
  const auto bias = in.bias ? std::optional<Tensor>(shape_for_choice(*in.bias)) : std::nullopt;
  const auto ask = [&] {
    return at::_ops::_fused_sdp_choice::redispatch(
        backing().keys, shape_for_choice(in.query), shape_for_choice(in.key),
        shape_for_choice(in.value), bias, in.dropout, in.causal, in.scale, in.grouped);
  };
  if (C10_LIKELY(at::globalContext().userEnabledMathSDP())) return ask();
  try {
    const NoWarnings without_reasons;
    return ask();
  } catch (const c10::Error&) {  // none of those that are allowed
    return kMath;
  }
}

void register_vmapped_attention() {
  // PyTorch has a kernel under this key, for all devices; ours does the same for the others.
  const NoWarnings about_that;
  static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::FuncTorchVmapMode,
                                __FILE__, __LINE__);
  library.impl("scaled_dot_product_attention", wrapped_attention);
}

}  // namespace openmps
