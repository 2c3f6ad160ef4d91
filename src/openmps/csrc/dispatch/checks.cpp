#include "dispatch/checks.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/ConvUtils.h>

#include <algorithm>
#include <unordered_map>

#include "dispatch/call.h"
#include "mac/mac.h"
#include "mac/waits.h"
#include "engine/reports.h"

namespace openmps {
namespace {

using at::Tensor;
using c10::FunctionSchema;
using c10::IValue;

const IValue& named(const FunctionSchema& schema, const IValue* arguments, const char* name) {
  return arguments[static_cast<size_t>(*schema.argumentIndexWithName(name))];
}

bool macos_before(unsigned major, unsigned minor) { return !macos_at_least(major, minor); }

// Rows that are padded so make Apple's kernel read beyond their end; PyTorch then takes its own.
void warn_mm(const Tensor& a, const Tensor& b) {
  if (a.scalar_type() != c10::kHalf || a.dim() != 2 || b.dim() != 2) return;
  if ((a.size(0) > 16 && b.size(1) > 16) || a.stride(1) != 1 || b.stride(0) != 1) return;
  const auto odd = [](int64_t padding) { return padding > 15 || padding % 4 != 0; };
  if (!odd(a.stride(0) - a.size(1)) && !odd(b.stride(1) - b.size(0))) return;
  TORCH_WARN_ONCE(
      "MPS mm implementation has a known issue with this shape, dtype and slice. Dispatching to "
      "metal implementation instead. This may impact performance.");
}

void check_mm(const FunctionSchema&, IValue* arguments) {
  const auto& a = arguments[0].toTensor();
  const auto& b = arguments[1].toTensor();
  TORCH_CHECK(a.dtype() == b.dtype(),
              "expected mat1 and mat2 to have the same dtype, but got: ", a.dtype(),
              " != ", b.dtype());
  warn_mm(a, b);
}

void check_bmm(const FunctionSchema&, IValue* arguments) {
  const auto& a = arguments[0].toTensor();
  const auto& b = arguments[1].toTensor();
  TORCH_CHECK(a.dtype() == b.dtype(), "Expected arguments of same type but got ", a.dtype(),
              " and ", b.dtype());
  if (!macos_before(15, 0) || a.dim() != 3 || b.dim() != 3) return;
  TORCH_CHECK(a.size(0) * a.size(1) * b.size(2) <= (int64_t{1} << 32),
              "Tiling of batch matmul for larger than 2**32 entries only available from MacOS15 "
              "onwards");
}

void check_dot(const FunctionSchema&, IValue* arguments) {
  const auto& a = arguments[0].toTensor();
  const auto& b = arguments[1].toTensor();
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "dot : expected both vectors to have same dtype, but found ", a.scalar_type(),
              " and ", b.scalar_type());
  TORCH_CHECK(a.device() == b.device() || a.numel() != b.numel(),
              "Expected all tensors to be on the same device. Found: ", a.device(), ", ",
              b.device());
}

void check_softmax(const FunctionSchema& schema, IValue* arguments) {
  TORCH_CHECK(!named(schema, arguments, "half_to_float").toBool(),
              "softmax with half to float conversion is not supported on MPS");
}

constexpr const char* kNotDivisible =
    " Non-divisible input sizes are not implemented on MPS device yet. For now, you can manually "
    "transfer tensor to cpu in this case. Please refer to [this issue]"
    "(https://github.com/pytorch/pytorch/issues/96056)";

struct Plane {
  int64_t height;
  int64_t width;
};

Plane plane(const Tensor& tensor) { return {tensor.size(-2), tensor.size(-1)}; }

void check_adaptive_sizes(Plane in, Plane out, bool average) {
  const bool shrinks = in.height >= out.height && in.width >= out.width;
  const bool grows = in.height <= out.height && in.width <= out.width;
  TORCH_CHECK(shrinks || grows,
              "Adaptive pool MPS: Input height and width must both be greater than, or equal to, "
              "or lesser than output height and width");
  if (!average || out.height == 0 || out.width == 0 || in.height == 0 || in.width == 0) return;
  if (in.height >= out.height) {
    TORCH_CHECK(in.height % out.height == 0 && in.width % out.width == 0,
                "Adaptive pool MPS: input sizes must be divisible by output sizes.", kNotDivisible);
  } else {
    TORCH_CHECK(out.height % in.height == 0 && out.width % in.width == 0,
                "Adaptive pool MPS: output sizes must be divisible by input sizes.", kNotDivisible);
  }
}

// Arguments of another form are refused by the operator itself.
void check_adaptive(const IValue* arguments, bool average) {
  const auto& input = arguments[0].toTensor();
  const auto sizes = arguments[1].toDimVector();
  if ((input.dim() != 3 && input.dim() != 4) || sizes.size() != 2) return;
  check_adaptive_sizes(plane(input), {sizes[0], sizes[1]}, average);
}

void check_adaptive_average(const FunctionSchema&, IValue* arguments) {
  check_adaptive(arguments, /*average=*/true);
}

void check_adaptive_maximum(const FunctionSchema&, IValue* arguments) {
  check_adaptive(arguments, /*average=*/false);
}

void check_same_type(const Tensor& input, const Tensor& other, const char* name) {
  TORCH_CHECK(input.options().type_equal(other.options()), "Input type (", input.toString(),
              ") and ", name, " type (", other.toString(), ") should be the same");
}

// Before macOS 15.1 no size of the output may be larger, whatever the text says.
void check_output_sizes(const FunctionSchema& schema, const IValue* arguments) {
  constexpr int64_t kLargest = 65536;
  const auto& input = arguments[0].toTensor();
  const auto& weight = arguments[1].toTensor();
  if (input.dim() < 3 || named(schema, arguments, "transposed").toBool()) return;
  const auto sizes = at::native::conv_output_size(
      input.sizes(), weight.sizes(), named(schema, arguments, "padding").toDimVector(),
      named(schema, arguments, "stride").toDimVector(),
      named(schema, arguments, "dilation").toDimVector());
  for (const auto size : sizes) {
    TORCH_CHECK_NOT_IMPLEMENTED(size <= kLargest,
                                "Output channels > 65536 not supported at the MPS device. ");
  }
}

// An input on the CPU goes a Mac's way for the CPU, where the weight then leads to this error.
void check_convolution_devices(const Tensor& input, const Tensor& weight, const IValue& bias) {
  TORCH_CHECK(input.is_mps() || weight.dim() > 4, "slow_conv2d_forward_mps: input(device='",
              input.device(), "') and weight(device=", weight.device(),
              "')  must be on the same device");
  check_same_type(input, weight, "weight");
  if (bias.isTensor() && bias.toTensor().defined()) check_same_type(input, bias.toTensor(), "bias");
}

void check_convolution(const FunctionSchema& schema, IValue* arguments) {
  const auto& input = arguments[0].toTensor();
  const auto& weight = arguments[1].toTensor();
  check_convolution_devices(input, weight, arguments[2]);
  const auto type = input.scalar_type();
  TORCH_CHECK(!named(schema, arguments, "transposed").toBool() || weight.dim() != 5 ||
                  (type != c10::kHalf && type != c10::kBFloat16),
              "ConvTranspose 3D with BF16 or FP16 types is not supported on MPS");
  if (macos_before(15, 1)) check_output_sizes(schema, arguments);
}

void check_grid_3d_backward(const FunctionSchema& schema, IValue* arguments) {
  const auto mode = named(schema, arguments, "interpolation_mode").toInt();
  TORCH_CHECK_NOT_IMPLEMENTED(
      mode == 0 || mode == 1,
      "grid_sampler_3d backward on MPS only supports bilinear and nearest interpolation");
}

// Kernels that bind their tensors one by one.
void check_bound(const FunctionSchema& schema, IValue* arguments) {
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (!arguments[i].isTensor()) continue;
    const auto& tensor = arguments[i].toTensor();
    TORCH_CHECK(tensor.is_mps() || tensor.dim() == 0, "Passed CPU tensor to MPS op");
  }
}

void check_masked_fill(const FunctionSchema&, IValue* arguments) {
  const auto& self = arguments[0].toTensor();
  const auto& mask = arguments[1].toTensor();
  TORCH_CHECK(self.device() == mask.device() || self.numel() == 0 || mask.numel() == 0,
              "expected self and mask to be on the same device, but got mask on ", mask.device(),
              " and self on ", self.device());
}

void check_equal(const FunctionSchema&, IValue* arguments) {
  const auto& a = arguments[0].toTensor();
  const auto& b = arguments[1].toTensor();
  if (a.sizes() != b.sizes() || a.numel() == 0) return;
  TORCH_CHECK(a.device() == b.device(),
              "Expected all tensors to be on the same device, but found at least two devices, ",
              "mps:0 and ", a.is_mps() ? b.device() : a.device(), "!");
  raise_report_by_now();  // it reads the answer
}

// A Mac waits for the device to learn how large the result is, or what it is.
void wait(const FunctionSchema&, IValue*) { raise_report_by_now(); }

void check_index(const FunctionSchema&, IValue* arguments) {
  int given = 0;
  for (const auto& index : optional_tensors(arguments[1])) {
    if (!index || !index->defined()) continue;
    ++given;
    if (is_mask(index->scalar_type())) raise_report_by_now();  // it counts what is selected
  }
  TORCH_CHECK(given <= 16,
              "Current limit allows up to 16 indices to be used in MPS indexing kernels");
}

void check_isin(const FunctionSchema&, IValue* arguments) {
  if (!arguments[0].isTensor() || !arguments[1].isTensor()) return;
  const auto& elements = arguments[0].toTensor();
  const auto& test_elements = arguments[1].toTensor();
  TORCH_CHECK(elements.is_mps() && test_elements.is_mps());  // the text is the condition
}

// A Mac's sort keeps equal elements in order whether asked to or not.
void make_stable(const FunctionSchema& schema, IValue* arguments) {
  arguments[static_cast<size_t>(*schema.argumentIndexWithName("stable"))] = true;
}

void check_repeat_interleave(const FunctionSchema&, IValue* arguments) {
  const auto type = arguments[0].toTensor().scalar_type();
  TORCH_CHECK(type == c10::kLong || type == c10::kInt, "repeats has to be Long or Int tensor");
}

void check_scatter_reduce(const FunctionSchema& schema, IValue* arguments) {
  const auto& reduce = named(schema, arguments, "reduce").toStringRef();
  const auto type = arguments[0].toTensor().scalar_type();
  TORCH_CHECK(reduce != "mean" || type != c10::kBool,
              "scatter_reduce: reduce='mean' not implemented for 'Bool'");
  check_bound(schema, arguments);
  if (type == c10::kLong && (reduce == "amin" || reduce == "amax")) {
    TORCH_CHECK(!macos_before(15, 0),
                "scatter_reduce(amin/amax) on int64 requires macOS 15 or newer");
    TORCH_CHECK(arguments[0].toTensor().is_contiguous(),
                "scatter_reduce(amin/amax) on int64 currently requires contiguous self");
  }
  TORCH_CHECK(reduce != "prod" || type != c10::kLong,
              "Failed to create function state object for: scatter_prod_dense_long_long");
}

// A Mac hands them to MPSGraph as doubles, which most complex numbers cannot become. Long rows go
// to a Metal kernel, which takes them.
void check_factors(const FunctionSchema& schema, IValue* arguments) {
  constexpr int64_t kLongestInGraph = 2048;
  const auto& left = arguments[1].toTensor();
  if (left.dim() == 2 && left.size(1) > kLongestInGraph) return;
  for (const char* factor : {"beta", "alpha"}) {
    const auto& value = named(schema, arguments, factor);
    if (value.isScalar()) static_cast<void>(value.toScalar().toDouble());
  }
}

// In place, no dimension is added.
void check_addr(const FunctionSchema& schema, IValue* arguments) {
  check_factors(schema, arguments);
  const auto count = schema.arguments().size();
  if (schema.arguments().back().name() != "out") return;
  const auto& self = arguments[0].toTensor();
  const auto& vec1 = arguments[1].toTensor();
  const auto& vec2 = arguments[2].toTensor();
  if (!self.is_same(arguments[count - 1].toTensor()) || vec1.dim() != 1 || vec2.dim() != 1) return;
  TORCH_CHECK(self.dim() == 2, "tensors must be 2-D");
  TORCH_CHECK(self.size(0) == vec1.size(0), "vec1_ dim 0 must match vec1 dim 0");
  TORCH_CHECK(self.size(1) == vec2.size(0), "vec1_ dim 1 must match vec2 dim 0");
}

void check_lu(const FunctionSchema& schema, IValue* arguments) {
  TORCH_CHECK(named(schema, arguments, "pivot").toBool(),
              "linalg.lu_factor(): MPS doesn't allow pivot == False.");
}

void check_unscale(const FunctionSchema&, IValue* arguments) {
  const auto gradients = arguments[0].toTensorVector();
  if (gradients.empty()) return;
  const auto& found_inf = arguments[1].toTensor();
  const auto& inv_scale = arguments[2].toTensor();
  TORCH_CHECK(inv_scale.is_mps(), "inv_scale must be a MPS tensor.");
  TORCH_CHECK(found_inf.is_mps(), "found_inf must be a MPS tensor.");
  TORCH_CHECK(inv_scale.numel() == 1, "inv_scale must be a 1-element tensor.");
  TORCH_CHECK(found_inf.numel() == 1, "found_inf must be a 1-element tensor.");
  TORCH_CHECK(inv_scale.scalar_type() == c10::kFloat, "inv_scale must be a float tensor.");
  TORCH_CHECK(found_inf.scalar_type() == c10::kFloat, "found_inf must be a float tensor.");
  const auto on_mps = [](const Tensor& gradient) { return gradient.is_mps(); };
  TORCH_CHECK(std::any_of(gradients.begin(), gradients.end(), on_mps),
              "scaled_grads must be MPS tensors.");
  TORCH_CHECK(std::all_of(gradients.begin(), gradients.end(), on_mps),
              "one of scaled_grads was not a MPS tensor.");
}

bool is_alike(const Tensor& tensor, const Tensor& parameter) {
  return tensor.scalar_type() == parameter.scalar_type() && tensor.device() == parameter.device() &&
         tensor.layout() == c10::kStrided && tensor.is_non_overlapping_and_dense() &&
         tensor.sizes() == parameter.sizes() && tensor.strides() == parameter.strides();
}

// (params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, ...)
void check_fused_adam(const FunctionSchema& schema, IValue* arguments) {
  const bool amsgrad = named(schema, arguments, "amsgrad").toBool();
  const auto parameters = arguments[0].toTensorVector();
  for (size_t list = 0; list < (amsgrad ? 5 : 4); ++list) {
    const auto tensors = arguments[list].toTensorVector();
    const bool alike =
        std::equal(tensors.begin(), tensors.end(), parameters.begin(), parameters.end(), is_alike);
    TORCH_CHECK(alike, "params, grads, exp_avgs, ",
                amsgrad ? "exp_avg_sqs, and max_exp_avg_sqs" : "and exp_avg_sqs",
                " must have same dtype, device, and layout");
  }
}

void warn_qr(const FunctionSchema&, IValue* arguments) {
  const auto& a = arguments[0].toTensor();
  if (a.dim() < 2 || std::min(a.size(-1), a.size(-2)) <= 512) return;
  TORCH_WARN_ONCE(
      "linalg_qr: MPS implementation is currently limited to min(m,n) <= 512, falling back to "
      "CPU.");
}

void warn_avg_pool(const FunctionSchema& schema, IValue* arguments) {
  if (named(schema, arguments, "divisor_override").isNone() ||
      arguments[0].toTensor().scalar_type() != c10::kLong) {
    return;
  }
  TORCH_WARN_ONCE(
      "MPS: passing divisor to Average Pooling op with int64 input is not supported on MPS "
      "backend. Falling back on CPU. This may have performance implications.");
}

// Where a range begins, and how far its steps go, in the dtype of its elements.
template <class T>
void convert(const c10::Scalar& begin, const c10::Scalar& step) {
  (void)begin.to<T>();
  (void)step.to<T>();
}

void check_range(const FunctionSchema& schema, IValue* arguments) {
  const auto* out =
      schema.argumentIndexWithName("out") ? &named(schema, arguments, "out") : nullptr;
  if (out == nullptr || !schema.argumentIndexWithName("step")) return;
  const auto begin = named(schema, arguments, "start").toScalar();
  const auto step = named(schema, arguments, "step").toScalar();
  const auto end = named(schema, arguments, "end").toScalar();
  if (begin.isComplex() || step.isComplex() || end.isComplex()) return;
  if ((end.toDouble() - begin.toDouble()) / step.toDouble() <= 0) return;  // empty, or refused
  switch (out->toTensor().scalar_type()) {
    case c10::kByte:
      return convert<uint8_t>(begin, step);
    case c10::kChar:
      return convert<int8_t>(begin, step);
    case c10::kShort:
      return convert<int16_t>(begin, step);
    case c10::kInt:
      return convert<int32_t>(begin, step);
    default:
      return;
  }
}

const std::unordered_map<std::string, Check> kChecks = {
    {"aten::mm", check_mm},
    {"aten::bmm", check_bmm},
    {"aten::addmm", check_factors},
    {"aten::addmv", check_factors},
    {"aten::addr", check_addr},
    {"aten::dot", check_dot},
    {"aten::vdot", check_dot},
    {"aten::_softmax", check_softmax},
    {"aten::_adaptive_avg_pool2d", check_adaptive_average},
    {"aten::adaptive_avg_pool2d", check_adaptive_average},
    {"aten::adaptive_max_pool2d", check_adaptive_maximum},
    {"aten::convolution", check_convolution},
    {"aten::grid_sampler_3d_backward", check_grid_3d_backward},
    {"aten::index", check_index},
    {"aten::_index_put_impl_", check_index},
    {"aten::equal", check_equal},
    {"aten::masked_fill_", check_masked_fill},
    {"aten::gather", check_bound},
    {"aten::scatter", check_bound},
    {"aten::scatter_", check_bound},
    {"aten::scatter_add", check_bound},
    {"aten::scatter_add_", check_bound},
    {"aten::isin", check_isin},
    {"aten::sort", make_stable},
    {"aten::repeat_interleave", check_repeat_interleave},
    {"aten::scatter_reduce", check_scatter_reduce},
    {"aten::scatter_reduce_", check_scatter_reduce},
    {"aten::linalg_lu", check_lu},
    {"aten::linalg_lu_factor_ex", check_lu},
    {"aten::_amp_foreach_non_finite_check_and_unscale_", check_unscale},
    {"aten::_fused_adam_", check_fused_adam},
    {"aten::_fused_adamw_", check_fused_adam},
    {"aten::arange", check_range},
    {"aten::range", check_range},
    {"aten::linalg_qr", warn_qr},
    {"aten::avg_pool2d", warn_avg_pool},
};

}  // namespace

Check check_for(const std::string& op) {
  const auto found = kChecks.find(op);
  if (found != kChecks.end()) return found->second;
  return waits_for_device(op) ? &wait : nullptr;
}

DtypeMask dtypes_to_check(const std::string& op) {
  constexpr DtypeMask kAll = ~DtypeMask{0};
  if (op == "aten::mm") return mask_of(c10::kHalf);
  if (op == "aten::avg_pool2d") return mask_of(c10::kLong);
  if (op == "aten::bmm") return macos_before(15, 0) ? kAll : 0;
  if (op == "aten::addmm" || op == "aten::addmv") {
    return mask_of(c10::kComplexFloat) | mask_of(c10::kComplexHalf);
  }
  if (op != "aten::convolution") return 0;
  return macos_before(15, 1) ? kAll : mask_of(c10::kHalf) | mask_of(c10::kBFloat16);
}

}  // namespace openmps
