#include "metal/iterators.h"

#include <torch/version.h>

#include <array>
#include <cstdlib>
#include <limits>

#include "mac/metal_name.h"

namespace openmps {
namespace {

using c10::ScalarType;

constexpr uint32_t kElementsPerThread = 4;    // of the "ilp" kernels
constexpr uint32_t kIlpThreshold = 1U << 18;  // elements from which on they run

// The form of the kernels that c10/metal/indexing.h registers. Before torch 2.13 there is one for
// each layout, named by the output's type alone where it casts; those with one input want strides
// in elements.
constexpr bool kFirstForm = TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 13;
// In torch 2.11 the factor keeps the common type where a kernel casts; later it has the output's.
constexpr bool kCastsFactor = TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR > 11;

std::string kernel_type(ScalarType type) {
  const auto name = metal_name(type);
  TORCH_CHECK(name != "unknown", "Undefined type ", type);
  return std::string(name);
}

uint32_t type_number(ScalarType type) { return static_cast<uint32_t>(type); }
uint32_t type_bytes(ScalarType type) { return static_cast<uint32_t>(c10::elementSize(type)); }
uint32_t groups_of_elements(uint64_t count) {
  return static_cast<uint32_t>((count + kElementsPerThread - 1) / kElementsPerThread);
}

// Natively two variables for measurements: "ilp" or "scalar".
bool forced(const char* variable, bool otherwise) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return otherwise;
  const std::string_view flavor(value);
  return flavor == "ilp" ? true : flavor == "scalar" ? false : otherwise;
}

template <class T>
void append_value(MetalEncoder& encoder, unsigned& index, const T& value) {
  encoder.set_value(index++, value);
}

template <class T>
void append_scalar_as(MetalEncoder& encoder, unsigned& index, const c10::Scalar& scalar) {
  append_value(encoder, index, scalar.to<T>());
}

void append_scalar(MetalEncoder& encoder, unsigned& index, const c10::Scalar& scalar,
                   ScalarType type) {
  switch (type) {
    case ScalarType::Double:
    case ScalarType::Float:
      return append_scalar_as<float>(encoder, index, scalar);
    case ScalarType::Half:
      return append_scalar_as<c10::Half>(encoder, index, scalar);
    case ScalarType::BFloat16:
      return append_scalar_as<c10::BFloat16>(encoder, index, scalar);
    case ScalarType::Long:
      return append_scalar_as<int64_t>(encoder, index, scalar);
    case ScalarType::Int:
      return append_scalar_as<int32_t>(encoder, index, scalar);
    case ScalarType::Short:
      return append_scalar_as<int16_t>(encoder, index, scalar);
    case ScalarType::Char:
      return append_scalar_as<int8_t>(encoder, index, scalar);
    case ScalarType::Byte:
      return append_scalar_as<uint8_t>(encoder, index, scalar);
    case ScalarType::Bool:
      return append_scalar_as<bool>(encoder, index, scalar);
    case ScalarType::UInt64:
      return append_scalar_as<uint64_t>(encoder, index, scalar);
    case ScalarType::UInt32:
      return append_scalar_as<uint32_t>(encoder, index, scalar);
    case ScalarType::UInt16:
      return append_scalar_as<uint16_t>(encoder, index, scalar);
    case ScalarType::ComplexHalf:
      return append_scalar_as<c10::complex<c10::Half>>(encoder, index, scalar);
    case ScalarType::ComplexFloat:
    case ScalarType::ComplexDouble:
      return append_scalar_as<c10::complex<float>>(encoder, index, scalar);
    default:
      TORCH_INTERNAL_ASSERT(false, "Unsupported scalar type '", type, "' on MPS backend.");
  }
}

void append_shape(MetalEncoder& encoder, unsigned& index, at::TensorIteratorBase& iter,
                  std::initializer_list<int> operands, bool in_elements = false) {
  encoder.set_list(index++, iter.shape());
  for (const int operand : operands) {
    c10::DimVector strides(iter.strides(operand));
    if (in_elements) {
      for (auto& stride : strides) stride /= iter.element_size(operand);
    }
    encoder.set_list(index++, strides);
  }
}

// Numbers from the CPU come in double precision.
at::Tensor narrow_number(at::Tensor tensor) {
  if (tensor.dim() != 0) return tensor;
  if (tensor.scalar_type() == c10::kDouble) return tensor.to(c10::kFloat);
  if (tensor.scalar_type() == c10::kComplexDouble) return tensor.to(c10::kComplexFloat);
  return tensor;
}

std::string alpha_suffix(const c10::Scalar* alpha, ScalarType type) {
  return alpha ? "_" + kernel_type(type) : std::string();
}

// Runs `run` for the iterator, or for its parts if it is too large for 32-bit offsets.
template <class Run>
bool was_split(at::TensorIteratorBase& iter, const Run& run) {
  if (iter.can_use_32bit_indexing()) return false;
  for (auto&& part : iter.with_32bit_indexing()) run(part);
  return true;
}

// ---- one input

struct UnaryRoute {
  bool dense = false;
  bool ilp = false;
  bool castout = false;  // computed in the input's type, converted when stored
  std::string kernel = {};
};

UnaryRoute unary_route(MetalLibrary& library, at::TensorIteratorBase& iter, const std::string& name,
                       bool has_alpha, const std::string& suffix,
                       std::optional<uint32_t> ilp_threshold, bool has_vec4) {
  UnaryRoute route{iter.is_contiguous()};
  const auto in = kernel_type(iter.input(0).scalar_type());
  const auto out = iter.output(0).scalar_type();
  if (route.dense && !has_alpha && !kFirstForm) {
    const bool large = c10::isFloatingType(out) && iter.numel() >= kIlpThreshold;
    route.ilp = forced("PYTORCH_UNARY_FORCE_FLAVOR", large);
  }
  const bool is_one_by_one = route.dense && !route.ilp && !has_alpha && !kFirstForm;
  const char* layout = is_one_by_one ? "dense_scalar" : route.dense ? "dense" : "strided";
  if (has_vec4 && route.dense && !has_alpha && c10::isFloatingType(iter.common_dtype())) {
    route.ilp = true;
    layout = "dense_vec4";
  }
  route.kernel = c10::str(name, "_", layout, "_", kernel_type(out), "_", in, suffix);
  if (has_alpha || kFirstForm || library.has(route.kernel)) return route;
  route.castout = true;
  route.ilp = route.dense && ilp_threshold && iter.numel() >= *ilp_threshold;
  layout = !route.dense ? "strided_castout" : route.ilp ? "dense_castout_ilp" : "dense_castout";
  route.kernel = c10::str(name, "_", layout, "_", in);
  return route;
}

void dispatch_castout(MetalEncoder& encoder, ScalarType out, uint32_t count, bool ilp) {
  if (ilp) {
    encoder.set_value(2, std::array<uint32_t, 3>{type_bytes(out), type_number(out), count});
    encoder.dispatch(groups_of_elements(count));
  } else {
    encoder.set_value(2, std::array<uint32_t, 2>{type_bytes(out), type_number(out)});
    encoder.dispatch(count);
  }
}

// ---- two inputs

enum class BinaryLayout {
  kDense,
  kIlp,
  kStrided,
  kScalar,
  kScalarLeft,
  kBroadcast,
  kBroadcastLeft
};

const char* layout_name(BinaryLayout layout) {
  switch (layout) {
    case BinaryLayout::kDense:
      return "dense";
    case BinaryLayout::kIlp:
      return "dense_ilp4";
    case BinaryLayout::kStrided:
      return "strided";
    case BinaryLayout::kScalar:
      return "dense_scalar";
    case BinaryLayout::kScalarLeft:
      return "dense_scalar_lhs";
    case BinaryLayout::kBroadcast:
      return "dense_broadcast";
    case BinaryLayout::kBroadcastLeft:
      return "dense_broadcast_rhs";  // so it is called natively
  }
  return "";
}

// Whether `from` repeats inside `into`: equal sizes from the last dimension on, then ones.
bool repeats_inside(const at::Tensor& from, const at::Tensor& into) {
  if (!from.is_contiguous() || !into.is_contiguous() || from.numel() == into.numel()) return false;
  bool equal = true;
  for (int64_t dim = -1; dim >= -from.dim(); --dim) {
    if (!equal && from.size(dim) != 1) return false;
    equal = equal && from.size(dim) == into.size(dim);
  }
  return true;
}

struct BinaryOperands {
  at::Tensor input, other, out;
  ScalarType common;
  bool cast;     // inputs are read by a type that is known at run time only
  bool castout;  // so is the output written

  bool is_full(const at::Tensor& tensor) const {
    return tensor.numel() == out.numel() && tensor.is_contiguous() && out.is_contiguous();
  }
};

BinaryLayout binary_layout(const BinaryOperands& operands, bool contiguous) {
  const auto& [input, other, out, common, cast, castout] = operands;
  if (castout) return BinaryLayout::kStrided;
  if (repeats_inside(input, out) && operands.is_full(other)) {
    return input.numel() == 1 ? BinaryLayout::kScalarLeft : BinaryLayout::kBroadcastLeft;
  }
  if (repeats_inside(other, out) && operands.is_full(input)) {
    return other.numel() == 1 ? BinaryLayout::kScalar : BinaryLayout::kBroadcast;
  }
  return contiguous ? BinaryLayout::kDense : BinaryLayout::kStrided;
}

// An integer next to a float32 tensor is converted once, before the launch.
void promote_number(BinaryOperands& operands, at::Tensor& number, ScalarType tensor_type) {
  const auto common = operands.common;
  const auto real = c10::isComplexType(common) ? c10::toRealValueType(common) : common;
  if (kFirstForm || !operands.cast || tensor_type != common || real != c10::kFloat) return;
  if (!c10::isIntegralType(number.scalar_type(), /*includeBool=*/true)) return;
  number = number.to(common);
  operands.cast = false;
}

std::string binary_kernel_name(const BinaryOperands& operands, BinaryLayout layout,
                               const std::string& name, ScalarType natural,
                               const std::string& suffix) {
  const auto out = operands.out.scalar_type();
  if (operands.castout) {
    return c10::str(name, "_strided_castout_", kernel_type(natural), "_",
                    kernel_type(operands.common), suffix);
  }
  if (operands.cast && kFirstForm) {
    return c10::str(name, "_", layout_name(layout), "_cast_", kernel_type(out), suffix);
  }
  const bool tensor_is_other =
      layout == BinaryLayout::kScalarLeft || layout == BinaryLayout::kBroadcastLeft;
  const auto read = operands.cast
                        ? (out == c10::kBool ? operands.common : out)
                        : (tensor_is_other ? operands.other : operands.input).scalar_type();
  return c10::str(name, "_", layout_name(layout), operands.cast ? "_cast_" : "_", kernel_type(out),
                  "_", kernel_type(read), suffix);
}

void bind_binary(MetalEncoder& encoder, at::TensorIteratorBase& iter,
                 const BinaryOperands& operands, BinaryLayout layout, const c10::Scalar* alpha,
                 ScalarType alpha_type) {
  const auto in = operands.input.scalar_type();
  const auto other = operands.other.scalar_type();
  unsigned index = 3;
  encoder.set_tensors(iter);
  if (layout == BinaryLayout::kScalar) encoder.set(2, operands.other);
  if (layout == BinaryLayout::kScalarLeft) encoder.set(1, operands.input);
  if (layout == BinaryLayout::kBroadcast) append_value(encoder, index, operands.other.numel());
  if (layout == BinaryLayout::kBroadcastLeft) append_value(encoder, index, operands.input.numel());
  if (layout == BinaryLayout::kIlp) {
    append_value(encoder, index, static_cast<uint32_t>(iter.numel()));
  }
  if (alpha && !operands.castout) append_scalar(encoder, index, *alpha, alpha_type);
  if (layout == BinaryLayout::kStrided) {
    append_shape(encoder, index, iter, {0, 1, 2});
    append_value(
        encoder, index,
        std::array<uint32_t, 4>{static_cast<uint32_t>(iter.ndim()), type_number(in),
                                type_number(other), type_number(operands.out.scalar_type())});
  } else if (operands.cast) {
    append_value(encoder, index,
                 std::array<uint32_t, 4>{type_bytes(in), type_bytes(other), type_number(in),
                                         type_number(other)});
  }
}

}  // namespace

void run_unary_kernel(MetalLibrary& library, at::TensorIteratorBase& iter, const std::string& name,
                      const c10::Scalar* alpha, std::optional<ScalarType> alpha_type,
                      std::optional<uint32_t> ilp_threshold, bool has_vec4) {
  const auto run = [&](at::TensorIteratorBase& part) {
    run_unary_kernel(library, part, name, alpha, alpha_type, ilp_threshold, has_vec4);
  };
  if (was_split(iter, run) || iter.numel() == 0) return;
  const auto number_type = alpha_type.value_or(iter.common_dtype());
  const auto route = unary_route(library, iter, name, alpha != nullptr,
                                 alpha_suffix(alpha, number_type), ilp_threshold, has_vec4);
  const auto count = static_cast<uint32_t>(iter.numel());
  const auto out = iter.output(0).scalar_type();
  MetalEncoder encoder;
  encoder.begin(library.kernel(route.kernel));
  encoder.set_tensors(iter);
  if (route.dense && route.castout) return dispatch_castout(encoder, out, count, route.ilp);
  unsigned index = 2;
  if (!route.dense) {
    append_shape(encoder, index, iter, {1, 0}, /*in_elements=*/kFirstForm);
    const auto dims = static_cast<uint32_t>(iter.ndim());
    append_value(encoder, index,
                 std::array<uint32_t, 2>{dims, route.castout ? type_number(out) : 0});
  }
  if (route.ilp) append_value(encoder, index, count);
  if (alpha) append_scalar(encoder, index, *alpha, number_type);
  if (!route.dense) return encoder.dispatch_strided(iter);
  encoder.dispatch(route.ilp ? groups_of_elements(count) : count);
}

void run_cast_kernel(MetalLibrary& library, std::string_view name, const void* source,
                     ScalarType source_type, void* target, ScalarType target_type, uint32_t count,
                     std::optional<uint32_t> ilp_threshold) {
  if (count == 0) return;
  const bool ilp = ilp_threshold && count >= *ilp_threshold;
  const auto kernel =
      c10::str(name, ilp ? "_dense_castout_ilp_" : "_dense_castout_", kernel_type(source_type));
  MetalEncoder encoder;
  encoder.begin(library.kernel(kernel));
  encoder.set_address(0, target, size_t{count} * type_bytes(target_type));
  encoder.set_address(1, source, size_t{count} * type_bytes(source_type));
  dispatch_castout(encoder, target_type, count, ilp);
}

void run_binary_kernel(MetalLibrary& library, at::TensorIteratorBase& iter, const std::string& name,
                       const c10::Scalar* alpha, std::optional<ScalarType> alpha_type,
                       std::optional<ScalarType> natural_type,
                       std::optional<uint32_t> ilp_threshold) {
  TORCH_CHECK(iter.output().scalar_type() != at::kDouble, "float64 is not supported on MPS");
  if (iter.numel() == 0) return;
  const auto run = [&](at::TensorIteratorBase& part) {
    run_binary_kernel(library, part, name, alpha, alpha_type, natural_type, ilp_threshold);
  };
  if (was_split(iter, run)) return;
  const auto out = iter.output().scalar_type();
  const auto natural = natural_type.value_or(out);
  BinaryOperands operands{narrow_number(iter.input(0)),
                          narrow_number(iter.input(1)),
                          iter.output(),
                          iter.common_dtype(),
                          false,
                          out != natural};
  operands.cast = operands.input.scalar_type() != operands.other.scalar_type();
  auto layout = binary_layout(operands, iter.is_contiguous());
  if (layout == BinaryLayout::kScalar) {
    promote_number(operands, operands.other, operands.input.scalar_type());
  } else if (layout == BinaryLayout::kScalarLeft) {
    promote_number(operands, operands.input, operands.other.scalar_type());
  }
  if (layout == BinaryLayout::kDense && !operands.cast && !alpha && !kFirstForm) {
    const auto from = ilp_threshold.value_or(
        c10::isFloatingType(out) ? kIlpThreshold : std::numeric_limits<uint32_t>::max());
    if (forced("PYTORCH_BINARY_FORCE_FLAVOR", iter.numel() >= from)) layout = BinaryLayout::kIlp;
  }
  const auto number_type =
      alpha_type.value_or(operands.cast && kCastsFactor ? out : operands.common);
  const auto suffix = alpha_suffix(alpha, number_type);
  MetalEncoder encoder;
  encoder.begin(library.kernel(binary_kernel_name(operands, layout, name, natural, suffix)));
  bind_binary(encoder, iter, operands, layout, alpha, number_type);
  if (layout == BinaryLayout::kStrided) return encoder.dispatch_strided(iter);
  encoder.dispatch(layout == BinaryLayout::kIlp ? groups_of_elements(iter.numel()) : iter.numel());
}

void run_ternary_kernel(MetalLibrary& library, at::TensorIteratorBase& iter,
                        const std::string& name, const c10::Scalar* alpha,
                        std::optional<ScalarType> alpha_type) {
  TORCH_CHECK(iter.output().scalar_type() != at::kDouble, "float64 is not supported on MPS");
  if (iter.numel() == 0) return;
  const auto run = [&](at::TensorIteratorBase& part) {
    run_ternary_kernel(library, part, name, alpha, alpha_type);
  };
  if (was_split(iter, run)) return;
  std::array<ScalarType, 3> in{};
  for (int i = 0; i < 3; ++i) in[i] = narrow_number(iter.input(i)).scalar_type();
  const auto out = iter.output().scalar_type();
  const bool cast = in[0] != in[1] || in[0] != in[2];
  const bool dense = iter.is_contiguous();
  const auto number_type = alpha_type.value_or(iter.common_dtype());
  const auto types =
      cast ? "cast_" + kernel_type(out) : kernel_type(out) + "_" + kernel_type(in[0]);
  MetalEncoder encoder;
  encoder.begin(library.kernel(
      c10::str(name, dense ? "_dense_" : "_strided_", types, alpha_suffix(alpha, number_type))));
  encoder.set_tensors(iter);
  unsigned index = 4;
  if (alpha) append_scalar(encoder, index, *alpha, number_type);
  const std::array<uint32_t, 4> numbers{type_number(in[0]), type_number(in[1]), type_number(in[2]),
                                        type_number(out)};
  if (!dense) {
    append_shape(encoder, index, iter, {0, 1, 2, 3});
    append_value(encoder, index, static_cast<uint32_t>(iter.ndim()));
    append_value(encoder, index, numbers);
    return encoder.dispatch_strided(iter);
  }
  if (cast) {
    append_value(encoder, index,
                 std::array<uint32_t, 4>{type_bytes(in[0]), type_bytes(in[1]), type_bytes(in[2]),
                                         type_bytes(out)});
    append_value(encoder, index, numbers);
  }
  encoder.dispatch(static_cast<uint64_t>(iter.numel()));
}

}  // namespace openmps
