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
void hand_over_generator(c10::IValue& value, int64_t elements) {
  const auto given =
      value.isNone() ? std::optional<at::Generator>() : value.toOptional<at::Generator>();
  value = backing_generator(given, elements);
}

// What is written gets bytes of its own before an argument that is only read, and may be the same
// tensor, is given what it shares with others.
void give_bytes_to_written(const Signature& signature, const torch::jit::Stack& stack,
                           size_t first) {
  for (size_t i = first; i < stack.size(); ++i) {
    if (!signature.writes(i - first) || !stack[i].isTensor()) continue;
    const auto& tensor = stack[i].toTensor();
    if (is_mps(tensor) && tensor.has_storage()) give_own_bytes(tensor.storage());
  }
}

}  // namespace

Signature::Signature(const OperatorHandle& op) {
  const auto& arguments = op.schema().arguments();
  TORCH_INTERNAL_ASSERT(arguments.size() <= 64, op.schema().name(), " has too many arguments");
  const bool random = op.hasTag(at::Tag::nondeterministic_seeded);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* alias = arguments[i].alias_info();
    if (alias != nullptr && alias->isWrite()) written |= uint64_t{1} << i;
    if (random && generator < 0 && is_generator(arguments[i])) generator = static_cast<int>(i);
    if (arguments[i].name() == "other") other = static_cast<int>(i);
  }
}

void run_on_backing(const OperatorHandle& op, DispatchKey functionality, torch::jit::Stack* stack,
                    const Signature& signature) {
  const auto& schema = op.schema();
  const size_t first = stack->size() - schema.arguments().size();

  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) scope.begin_operation(op, *stack);
  if (signature.written != 0) give_bytes_to_written(signature, *stack, first);
  Call call(schema.name());
  bool elsewhere = false;  // a factory-like operator that was told to answer on another device
  for (size_t i = first; i < stack->size(); ++i) {
    auto& value = (*stack)[i];
    if (value.isDevice() && !value.toDevice().is_mps()) elsewhere = true;
    call.to_backing(value, signature.writes(i - first));
  }
  if (signature.generator >= 0) {
    hand_over_generator((*stack)[first + static_cast<size_t>(signature.generator)],
                        call.elements());
  }

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
