#include "dispatch/on_backing.h"

#include "dispatch/call.h"
#include "dispatch/determinism.h"
#include "engine/engine.h"
#include "profiler/profiler.h"
#include "tensor/allocation_tracker.h"
#include "tensor/lazy_bytes.h"
#include "torch_interfaces/generator.h"

namespace openmps {
namespace {

using c10::DispatchKey;
using c10::OperatorHandle;

bool is_generator(const c10::Argument& argument) {
  auto type = argument.type();
  if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type->kind() == c10::TypeKind::GeneratorType;
}

// For random operators without a kernel in random.cpp: those that a Mac lacks (poisson, rrelu). The
// backing generator continues the mps generator's stream.
void hand_over_generator(const OperatorHandle& op, torch::jit::Stack* stack, size_t first,
                         int64_t elements) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded)) return;
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!is_generator(arguments[i])) continue;
    auto& value = (*stack)[first + i];
    const auto given =
        value.isNone() ? std::optional<at::Generator>() : value.toOptional<at::Generator>();
    value = backing_generator(given, elements);
    return;
  }
}

// What is written gets bytes of its own before an argument that is only read, and may be the same
// tensor, is given what it shares with others.
void give_bytes_to_written(const std::vector<c10::Argument>& arguments,
                           const torch::jit::Stack& stack, size_t first) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& value = stack[first + i];
    const auto* alias = arguments[i].alias_info();
    if (alias == nullptr || !alias->isWrite() || !value.isTensor()) continue;
    const auto& tensor = value.toTensor();
    if (is_mps(tensor) && tensor.has_storage()) give_own_bytes(tensor.storage());
  }
}

}  // namespace

void run_on_backing(const OperatorHandle& op, DispatchKey functionality, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const auto& arguments = schema.arguments();
  const size_t first = stack->size() - arguments.size();

  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) scope.begin_operation(op, *stack);
  give_bytes_to_written(arguments, *stack, first);
  Call call(schema.name());
  bool elsewhere = false;  // a factory-like operator that was told to answer on another device
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto& value = (*stack)[first + i];
    if (value.isDevice() && !value.toDevice().is_mps()) elsewhere = true;
    const auto* alias = arguments[i].alias_info();
    call.to_backing(value, alias != nullptr && alias->isWrite());
  }
  hand_over_generator(op, stack, first, call.elements());

  const auto component = c10::toBackendComponent(backing().key);
  const auto key = c10::toRuntimePerBackendFunctionalityKey(functionality, component);
  scope.restart();
  try {
    const Tracking tracking(!elsewhere);
    const NoAlerts silent;
    op.redispatchBoxed(c10::DispatchKeySet(key), stack);
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }

  call.settle();
  if (elsewhere) return;
  for (size_t i = first; i < stack->size(); ++i) call.to_mps((*stack)[i]);
}

}  // namespace openmps
