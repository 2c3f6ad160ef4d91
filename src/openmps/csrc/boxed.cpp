// The kernel behind almost every operator: runs it on the same bytes, on the backing device.
// Boxed, so that one function serves all operators of all libraries, aten and custom ones alike.
#include "boxed.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "backing.h"
#include "call.h"
#include "generator.h"

namespace openmps {
namespace {

using c10::DispatchKey;
using c10::OperatorHandle;

bool is_generator(const c10::Argument& argument) {
  auto type = argument.type();
  if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type->kind() == c10::TypeKind::GeneratorType;
}

// Random operators draw from the mps generator, whose stream a backing generator then continues.
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

template <c10::DispatchKey functionality>
void run_on_backing(const OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const auto& arguments = schema.arguments();
  const size_t first = stack->size() - arguments.size();

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
  op.redispatchBoxed(c10::DispatchKeySet(key), stack);

  call.settle();
  if (elsewhere) return;
  for (size_t i = first; i < stack->size(); ++i) call.to_mps((*stack)[i]);
}

struct KeyPair {
  DispatchKey mps;
  DispatchKey functionality;
};

torch::CppFunction kernel_for(DispatchKey functionality) {
  return functionality == DispatchKey::Sparse
             ? torch::CppFunction::makeFromBoxedFunction<&run_on_backing<DispatchKey::Sparse>>()
             : torch::CppFunction::makeFromBoxedFunction<&run_on_backing<DispatchKey::Dense>>();
}

}  // namespace

void register_boxed_kernels() {
  const auto component = c10::toBackendComponent(backing().key);
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& [mps, functionality] : {KeyPair{DispatchKey::MPS, DispatchKey::Dense},
                                           KeyPair{DispatchKey::SparseMPS, DispatchKey::Sparse}}) {
    // Registrations last as long as their library object: these two live for ever.
    auto* all = new torch::Library(torch::Library::IMPL, "_", mps, __FILE__, __LINE__);
    all->fallback(kernel_for(functionality));

    // By name, too, where the backing device has a kernel of its own: else the dispatcher would
    // prefer the operator's generic decomposition to the fallback.
    auto* aten = new torch::Library(torch::Library::IMPL, "aten", mps, __FILE__, __LINE__);
    const auto key = c10::toRuntimePerBackendFunctionalityKey(functionality, component);
    for (const auto& name : dispatcher.getRegistrationsForDispatchKey(key)) {
      if (name.name.rfind("aten::", 0) != 0) continue;
      const auto op = dispatcher.findOp(name);
      if (!op || op->hasKernelForDispatchKey(mps)) continue;
      const auto full =
          name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
      aten->impl(full.c_str(), kernel_for(functionality));
    }
  }
}

}  // namespace openmps
