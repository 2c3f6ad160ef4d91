// scaled_dot_product_attention. PyTorch's own version asks a dispatch stub which kernel to use, and
// on Linux the stub has no mps slot and asserts. So the choice is made here, by asking the backing
// device about tensors of the same shape; the chosen operator then runs on the mps tensors as any
// other does, and autograd, which sees only that operator, works as usual.
#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_attention_math_for_mps_ops.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>

#include "tensor/allocation_tracker.h"
#include "operators/attention.h"
#include "dispatch/determinism.h"
#include "torch_interfaces/generator.h"
#include "engine/cuda/errors.h"
#include "tensor/header.h"
#include "profiler/profiler.h"
#include "mac/rules.h"

namespace openmps {
namespace {

using at::Tensor;

// at::sdp::SDPBackend, which the wheel's headers do not give the numbers of.
enum Choice : int64_t { kMath = 0, kFlash = 1, kEfficient = 2, kCudnn = 3 };

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

bool needs_gradient(const Tensor& query, const Tensor& key, const Tensor& value) {
  return at::GradMode::is_enabled() &&
         (query.requires_grad() || key.requires_grad() || value.requires_grad());
}

// In a graph that is being traced sizes may be symbols, which have no number.
bool is_symbolic(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

bool any_is_symbolic(const Tensor& query, const Tensor& key, const Tensor& value) {
  return is_symbolic(query) || is_symbolic(key) || is_symbolic(value);
}

// Of a symbol nobody is asked: what is traced is the usual case.
bool is_empty(const Tensor& query, const Tensor& value) {
  if (!is_symbolic(query) && !is_symbolic(value)) return value.numel() == 0 || query.size(-2) == 0;
  return TORCH_GUARD_OR_FALSE(value.sym_numel().sym_eq(0)) ||
         TORCH_GUARD_OR_FALSE(query.sym_size(-2).sym_eq(0));
}

// The process's switches for kernels (torch.nn.attention.sdpa_kernel). A Mac has none of those
// kernels and does not ask.
bool only_plain_formula_allowed() {
  const auto& context = at::globalContext();
  return context.userEnabledMathSDP() && !context.userEnabledFlashSDP() &&
         !context.userEnabledMemEfficientSDP();
}

// While it lives, this thread's choosers do not tell why a kernel is not the one.
class Silently {
 private:
  struct Silent final : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  } silent_;
  const c10::WarningUtils::WarningHandlerGuard guard_{&silent_};
};

Tensor shape_for_choice(const Tensor& tensor) {
  auto shape = shape_only(tensor);
  if (tensor.requires_grad()) shape.set_requires_grad(true);  // some kernels have no backward
  return shape;
}

// What the CPU's chooser says of its one fused kernel while the program allows it.
bool fits_cpu_kernel(const Tensor& query, const Tensor& key, const Tensor& value,
                     const std::optional<Tensor>& mask, bool grouped) {
  const auto fits = [&](const Tensor& other) {
    return other.dim() == 4 && other.size(0) == query.size(0) && other.size(2) != 0 &&
           other.size(3) == query.size(3) && other.stride(3) == 1 &&
           (other.size(1) == query.size(1) ||
            (grouped && other.size(1) != 0 && query.size(1) % other.size(1) == 0));
  };
  if (query.dim() != 4 || !fits(query) || !fits(key) || !fits(value)) return false;
  if (key.size(1) != value.size(1) || !at::isFloatingType(query.scalar_type())) return false;
  if (!mask) return true;
  const std::array<int64_t, 4> scores = {query.size(0), query.size(1), query.size(2), key.size(2)};
  if (mask->requires_grad() || (mask->dim() != 2 && mask->dim() != 4)) return false;
  return at::is_expandable_to(mask->sizes(), scores);
}

// Straight to the backing device's kernel, which looks at shapes only, with every layer above it
// switched off: torch.compile, which traces this function with fake tensors, must not see them.
int64_t choose(const Tensor& query, const Tensor& key, const Tensor& value,
               const std::optional<Tensor>& mask, double dropout, bool causal,
               std::optional<double> scale, bool grouped) {
  constexpr c10::DispatchKeySet kAbove =
      c10::DispatchKeySet(c10::DispatchKeySet::FULL) -
      c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::ADInplaceOrView);
  if (any_is_symbolic(query, key, value)) return kMath;
  // Fused kernels draw masks of their own. A GPU's may, for their speed, unless somebody wants the
  // same numbers again.
  if (dropout > 0.0 && (backing().is_cpu() || must_be_deterministic())) return kMath;
  // With gradients a Mac falls back on the plain formula, and on its memory.
  if (needs_gradient(query, key, value) && backing().is_cpu() && is_strict()) return kMath;
  // The chooser, but not a Mac, minds what the program allows.
  if (backing().is_cpu() && !at::globalContext().userEnabledFlashSDP()) {
    return fits_cpu_kernel(query, key, value, mask, grouped) ? kFlash : kMath;
  }
  // Asked for by name, the plain formula is what a Mac runs.
  if (!backing().is_cpu() && only_plain_formula_allowed()) return kMath;
  const c10::impl::ExcludeDispatchKeyGuard only_the_kernel(kAbove);
  const auto mask_shape = mask ? std::optional<Tensor>(shape_for_choice(*mask)) : std::nullopt;
  const auto ask = [&] {
    return at::_ops::_fused_sdp_choice::redispatch(backing().keys, shape_for_choice(query),
                                                   shape_for_choice(key), shape_for_choice(value),
                                                   mask_shape, dropout, causal, scale, grouped);
  };
  if (C10_LIKELY(at::globalContext().userEnabledMathSDP())) return ask();
  try {
    const Silently without_reasons;
    return ask();
  } catch (const c10::Error&) {  // none of those that are allowed
    return kMath;
  }
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

Tensor pad_last(const Tensor& tensor, int64_t multiple) {
  const auto excess = tensor.size(-1) % multiple;
  return excess == 0 ? tensor : at::pad(tensor, {0, multiple - excess});
}

// The CPU's fused kernel wants batch and head dimensions, even where newer releases choose it for
// inputs without them.
Tensor add_leading(Tensor tensor, int64_t dimensions) {
  for (int64_t i = 0; i < dimensions; ++i) tensor = tensor.unsqueeze(0);
  return tensor;
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

// By the fastest kernel that the backing device has for these inputs.
Tensor fused_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                       const std::optional<Tensor>& bias, double dropout, bool causal,
                       std::optional<double> scale, bool grouped) {
  const auto choice = choose(query, key, value, bias, dropout, causal, scale, grouped);
  // Its masks never leave the registers of a fused kernel: a GPU draws them with its own generator,
  // from where ours stands.
  std::unique_lock<std::mutex> alone;
  if (dropout > 0.0 && choice != kMath) alone = seed_backing_default();
  switch (choice) {
    case kFlash: {
      if (backing().is_cpu()) {
        const auto missing = std::max<int64_t>(0, 4 - query.dim());
        auto out = std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
            add_leading(query, missing), add_leading(key, missing), add_leading(value, missing),
            dropout, causal, bias && bias->dim() == 3 ? bias->unsqueeze(0) : bias, scale));
        for (int64_t i = 0; i < missing; ++i) out = out.squeeze(0);
        return out;
      }
      // The CUDA kernel wants a head size that is a multiple of 8; the scale is the true size's.
      const auto size = query.size(-1);
      const auto out = std::get<0>(at::_scaled_dot_product_flash_attention(
          pad_last(query, 8), pad_last(key, 8), pad_last(value, 8), dropout, causal,
          /*return_debug_mask=*/false, scale.value_or(1.0 / std::sqrt(static_cast<double>(size)))));
      return out.size(-1) == size ? out : out.slice(-1, 0, size);
    }
    case kEfficient: {
      auto padded = bias;
      if (padded) {
        const auto length = padded->size(-1);
        padded = pad_last(*padded, 8)
                     .slice(-1, 0, length)
                     .expand({query.size(0), query.size(1), query.size(2), key.size(2)});
      }
      return std::get<0>(at::_scaled_dot_product_efficient_attention(
          query, key, value, padded, needs_gradient(query, key, value), dropout, causal, scale));
    }
    case kCudnn:
      return std::get<0>(at::_scaled_dot_product_cudnn_attention(
          query, key, value, bias, needs_gradient(query, key, value), dropout, causal,
          /*return_debug_mask=*/false, scale));
    default:
      return std::get<0>(at::_scaled_dot_product_attention_math(
          query, key, value, bias, dropout, causal, /*dropout_mask=*/std::nullopt, scale, grouped));
  }
}

// A Mac's kernels write their output row by row, and torch.compile relies on it. A GPU's fused ones
// lay it as the next layer reads it: for their speed it is left so, unless the operator is called
// by its own name, as compiled code does.
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
  if (needs_gradient(query, key, value)) {
    // The plain formula's own check; some of a GPU's fused kernels would take both.
    TORCH_CHECK(!bias || !causal || !refuses(kAttention, "a mask beside is_causal=True"),
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                "is_causal=True");
    return fused_attention(query, key, value, bias, dropout, causal, scale, grouped);
  }
  const AsLaid fast(!backing().is_cpu());
  // Autograd has nothing to record, and its way around an operator without a gradient is slow.
  const at::AutoDispatchBelowADInplaceOrView no_gradients;
  return without_gradients(query, key, value, bias, dropout, causal, scale, grouped);
}

bool has_kernel_for_long_queries(const Tensor& query, const Tensor& value) {
  constexpr std::array<int64_t, 7> kHeadSizes = {32, 64, 72, 80, 96, 128, 256};
  const char* disabled = std::getenv("PYTORCH_MPS_DISABLE_PREFILL_ATTENTION");
  if (disabled != nullptr && std::strcmp(disabled, "0") != 0) return false;
  const auto size = query.size(-1);
  return query.size(-2) > 8 && size == value.size(-1) &&
         std::find(kHeadSizes.begin(), kHeadSizes.end(), size) != kHeadSizes.end();
}

// Without gradients CUDA's own operator does all of it, choice and padding included, on the backing
// tensors: one conversion, and only the output comes back.
Tensor on_gpu_at_once(const Tensor& query, const Tensor& key, const Tensor& value,
                      const std::optional<Tensor>& bias, bool causal, std::optional<double> scale,
                      bool grouped) {
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) {
    scope.begin_operation(MathForMps::name, "", {&query, &key, &value});
  }
  const BackingView q(query);
  const BackingView k(key);
  const BackingView v(value);
  std::optional<BackingView> b;
  if (bias) b.emplace(*bias);
  const at::AutoDispatchBelowADInplaceOrView no_gradients;  // it may be called by its own name
  try {
    const Counting counting;
    const NoAlerts silent;
    return new_on_mps(at::native::scaled_dot_product_attention(
        q.get(), k.get(), v.get(), b ? std::optional<Tensor>(b->get()) : std::nullopt,
        /*dropout_p=*/0.0, causal, scale, grouped));
  } catch (const c10::Error& error) {
    rethrow_as_mps(error);
  }
}

// A Mac's own operator for attention without gradients. Its fast kernels, too, give the output in
// the place of the weights.
std::tuple<Tensor, Tensor> attention_math_for_mps(const Tensor& query, const Tensor& key,
                                                  const Tensor& value,
                                                  const std::optional<Tensor>& mask, double dropout,
                                                  bool causal, const std::optional<Tensor>&,
                                                  std::optional<double> scale, bool grouped) {
  // Without the plain formula to fall back on, CUDA's operator raises where no other kernel fits.
  const bool at_once = !backing().is_cpu() && dropout == 0.0 && is_mps(key) && is_mps(value) &&
                       (!mask || is_mps(*mask)) && at::globalContext().userEnabledMathSDP();
  std::optional<ledger::Own> own;
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
  const auto out = AsLaid::row_by_row(
      at_once ? on_gpu_at_once(query, key, value, bias, causal, scale, grouped)
              : fused_attention(query, key, value, bias, dropout, causal, scale, grouped));
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

void register_vmapped_attention() {
  struct Silent : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  } silent;
  // PyTorch has a kernel under this key, for all devices; ours does the same for the others.
  const c10::WarningUtils::WarningHandlerGuard no_warning_about_that(&silent);
  static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::FuncTorchVmapMode,
                                __FILE__, __LINE__);
  library.impl("scaled_dot_product_attention", wrapped_attention);
}

}  // namespace openmps
