#include "determinism.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

namespace openmps {
namespace {

const c10::IValue* argument(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                            size_t first, const char* name) {
  const auto index = schema.argumentIndexWithName(name);
  return index ? &stack[first + static_cast<size_t>(*index)] : nullptr;
}

// Sums of integers come out the same in any order.
bool rounds(const at::Tensor& tensor) {
  return at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type());
}

bool reduces_by(const c10::IValue* reduce, std::initializer_list<const char*> kinds) {
  if (reduce == nullptr || !reduce->isString()) return false;
  for (const char* kind : kinds) {
    if (reduce->toStringRef() == kind) return true;
  }
  return false;
}

}  // namespace

void alert_if_not_deterministic(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                                size_t first) {
  auto& context = at::globalContext();
  if (!context.deterministicAlgorithms()) return;
  const auto& name = schema.name();
  if (name == "aten::kthvalue") return context.alertNotDeterministic("kthvalue MPS");
  if (!stack[first].isTensor() || !rounds(stack[first].toTensor())) return;
  const auto* reduce = argument(schema, stack, first, "reduce");
  if (name == "aten::_index_put_impl_") {
    const auto* accumulate = argument(schema, stack, first, "accumulate");
    if (accumulate->toBool()) context.alertNotDeterministic("index_put_with_accumulate_mps");
  } else if (name.rfind("aten::index_add", 0) == 0) {
    context.alertNotDeterministic("index_put_with_accumulate_mps");  // which it then calls
  } else if (name.rfind("aten::index_reduce", 0) == 0) {
    if (reduces_by(reduce, {"prod", "mean"})) context.alertNotDeterministic("index_reduce_mps");
  } else if (name.rfind("aten::scatter_add", 0) == 0 ||
             (name.rfind("aten::scatter", 0) == 0 &&
              reduces_by(reduce, {"sum", "prod", "mean", "add", "multiply"}))) {
    context.alertNotDeterministic("scatter_reduce_mps");
  }
}

}  // namespace openmps
