#include "dispatch/widen.h"

#include <ATen/core/jit_type.h>
#include <ATen/native/TypeProperties.h>
#include <c10/util/SmallVector.h>

namespace openmps {
namespace {

using at::Tensor;
using c10::ScalarType;

// The dtype that `narrow`'s partner in the wide computation becomes again: a float made from
// complex numbers is as narrow as they were, and so are complex numbers made from floats.
std::optional<ScalarType> narrowed(ScalarType type, ScalarType narrow, ScalarType wide) {
  if (type == wide) return narrow;
  if (c10::isComplexType(narrow) && type == c10::toRealValueType(wide)) {
    return c10::toRealValueType(narrow);
  }
  if (c10::isFloatingType(narrow) && type == c10::toComplexType(wide)) {
    return c10::toComplexType(narrow);
  }
  return std::nullopt;
}

// Whose dtypes may decide whether an operator is widened.
struct Dtypes {
  std::optional<ScalarType> first;
  ScalarType common = ScalarType::Undefined;
  bool same = true;

  // The dtype by which that widening applies; none if it does not.
  std::optional<ScalarType> decides(const Widening& widening) const {
    if (!first || (widening.of == "same" && !same)) return std::nullopt;
    const auto type = widening.of == "common" ? common : *first;
    if ((mask_of(type) & widening.dtypes) == 0) return std::nullopt;
    return type;
  }
};

bool is_number(const c10::Argument& argument) {
  const auto optional = argument.type()->cast<c10::OptionalType>();
  const auto& type = optional ? optional->getElementType() : argument.type();
  return type->kind() == c10::TypeKind::NumberType;
}

// Of the tensors that are read, or of the results if there are none.
Dtypes dtypes_of(const c10::FunctionSchema& schema, const torch::jit::Stack& stack, size_t first,
                 bool results = false) {
  const auto& arguments = schema.arguments();
  Dtypes dtypes;
  at::native::ResultTypeState state{};
  const auto add = [&](const Tensor& tensor) {
    if (!tensor.defined()) return;
    if (!dtypes.first) dtypes.first = tensor.scalar_type();
    dtypes.same = dtypes.same && tensor.scalar_type() == *dtypes.first;
    state = at::native::update_result_type_state(tensor, state);
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& value = stack[first + i];
    if (arguments[i].is_out() != results) continue;
    if (value.isTensor()) {
      add(value.toTensor());
    } else if (value.isTensorList()) {
      for (const Tensor& tensor : value.toTensorVector()) add(tensor);
    } else if (value.isScalar() && is_number(arguments[i])) {
      state = at::native::update_result_type_state(value.toScalar(), state);
    }
  }
  if (!dtypes.first) return results ? dtypes : dtypes_of(schema, stack, first, /*results=*/true);
  dtypes.common = at::native::result_type(state);
  return dtypes;
}

class Widener {
 public:
  // `narrow`: what the results have whose wide partner is `wide`.
  Widener(const DtypeRules& rules, ScalarType narrow, ScalarType wide)
      : rules_(rules), narrow_(narrow), wide_(wide) {}

  Tensor widen(const Tensor& tensor, bool written) {
    if (!tensor.defined()) return tensor;
    const auto through = wider(tensor.scalar_type());
    if (!through) return tensor;
    auto copy = tensor.to(*through);
    if (written) written_.push_back({tensor, copy});
    return copy;
  }

  void widen(c10::IValue& value, bool written) {
    if (value.isTensor()) {
      value = widen(value.toTensor(), written);
    } else if (value.isTensorList()) {
      c10::List<Tensor> copies;
      for (const Tensor& tensor : value.toTensorVector()) copies.push_back(widen(tensor, written));
      value = std::move(copies);
    }
  }

  void write_back() {
    for (const auto& [original, copy] : written_) {
      if (original.sizes() != copy.sizes()) original.resize_(copy.sizes());
      original.copy_(copy);
    }
  }

  Tensor narrow(const Tensor& result) const {
    if (!result.defined()) return result;
    for (const auto& [original, copy] : written_) {
      if (copy.is_same(result)) return original;
    }
    const auto type = narrowed(result.scalar_type(), narrow_, wide_);
    return type ? result.to(*type) : result;
  }

  void narrow(c10::IValue& value) const {
    if (value.isTensor()) {
      value = narrow(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<Tensor> results;
      for (const Tensor& tensor : value.toTensorVector()) results.push_back(narrow(tensor));
      value = std::move(results);
    }
  }

 private:
  struct Written {
    Tensor original;
    Tensor copy;
  };

  std::optional<ScalarType> wider(ScalarType type) const {
    for (const auto& widening : rules_.widenings) {
      if (mask_of(type) & widening.dtypes) return widening.through;
    }
    return std::nullopt;
  }

  const DtypeRules& rules_;
  const ScalarType narrow_;
  const ScalarType wide_;
  c10::SmallVector<Written, 2> written_;
};

}  // namespace

DtypeMask dtypes_on(const torch::jit::Stack& stack, size_t first) {
  DtypeMask dtypes = 0;
  for (size_t i = first; i < stack.size(); ++i) {
    if (stack[i].isTensor()) {
      dtypes |= mask_of(stack[i].toTensor());
    } else if (stack[i].isTensorList()) {
      for (const Tensor& tensor : stack[i].toTensorList()) dtypes |= mask_of(tensor);
    }
  }
  return dtypes;
}

void run_widened(const DtypeRules& rules, const c10::OperatorHandle& op, torch::jit::Stack* stack,
                 c10::function_ref<void()> run) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  const auto dtypes = dtypes_of(op.schema(), *stack, first);
  std::optional<Widener> widener;
  for (const auto& widening : rules.widenings) {
    const auto narrow = dtypes.decides(widening);
    if (narrow) widener.emplace(rules, *narrow, widening.through);
  }
  if (!widener) return run();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* alias = arguments[i].alias_info();
    widener->widen((*stack)[first + i], alias != nullptr && alias->isWrite());
  }
  run();
  widener->write_back();
  for (size_t i = first; i < stack->size(); ++i) widener->narrow((*stack)[i]);
}

}  // namespace openmps
