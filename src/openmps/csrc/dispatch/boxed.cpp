// Runs an operator on the same bytes, on the backing device. Boxed, so that one function serves all
// operators of all libraries, aten and custom ones alike.
#include "dispatch/boxed.h"

#include <torch/library.h>

#include "tensor/allocation_tracker.h"
#include "engine/engine.h"
#include "dispatch/call.h"
#include "dispatch/determinism.h"
#include "dispatch/fallback.h"
#include "torch_interfaces/generator.h"
#include "engine/cuda/errors.h"
#include "engine/cuda/lazy_bfloat16.h"
#include "profiler/profiler.h"
#include "mac/rules.h"
#include "tensor/sparse.h"
#include "dispatch/widen.h"

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

// Before its image is lent to an argument that is only read, and is the same tensor.
[[gnu::cold]] void give_bytes_to_written(const std::vector<c10::Argument>& arguments,
                                         const torch::jit::Stack& stack, size_t first) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& value = stack[first + i];
    const auto* alias = arguments[i].alias_info();
    if (alias == nullptr || !alias->isWrite() || !value.isTensor()) continue;
    const auto& tensor = value.toTensor();
    if (is_mps(tensor) && tensor.has_storage()) held::write(tensor.storage());
  }
}

void run_on_backing(const OperatorHandle& op, DispatchKey functionality, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const auto& arguments = schema.arguments();
  const size_t first = stack->size() - arguments.size();

  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) scope.begin_operation(op, *stack);
  if (C10_UNLIKELY(held::any())) give_bytes_to_written(arguments, *stack, first);
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
    const Counting counting(!elsewhere);
    const NoAlerts silent;
    op.redispatchBoxed(c10::DispatchKeySet(key), stack);
  } catch (const c10::Error& error) {
    rethrow_as_mps(error);
  }

  call.settle();
  if (elsewhere) return;
  for (size_t i = first; i < stack->size(); ++i) call.to_mps((*stack)[i]);
}

// Whether the CPU's kernel complains of an index. Of anything else a Mac, too, complains at once.
bool is_found_late(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  for (const char* words : {"out of bounds", "out of range", "invalid max index", "valid range"}) {
    if (text.find(words) != std::string::npos) return true;
  }
  return false;
}

// A kernel that fails over what a Mac would notice later runs again, on arguments that work.
void run_deferring(const OperatorHandle& op, Mend mend, torch::jit::Stack* stack) {
  const size_t count = op.schema().arguments().size();
  const size_t first = stack->size() - count;
  torch::jit::Stack arguments(stack->begin() + first, stack->end());
  if (!backing().is_cpu()) {
    mend(arguments);
    std::move(arguments.begin(), arguments.end(), stack->begin() + first);
    return run_on_backing(op, DispatchKey::Dense, stack);
  }
  try {
    return run_on_backing(op, DispatchKey::Dense, stack);
  } catch (const c10::Error& error) {
    if (!is_found_late(error) || !mend(arguments)) throw;
  }
  stack->resize(first);
  const auto* alias = op.schema().arguments()[0].alias_info();
  if (alias != nullptr && alias->isWrite()) {
    stack->push_back(arguments[0]);  // an operator in place leaves its tensor alone
  } else {
    stack->insert(stack->end(), arguments.begin(), arguments.end());
    run_on_backing(op, DispatchKey::Dense, stack);
  }
}

void lay_out(torch::jit::Stack& results, size_t first, c10::MemoryFormat format) {
  for (size_t i = first; i < results.size(); ++i) {
    results[i] = results[i].toTensor().contiguous(format);
  }
}

// The CPU gives these matrices by columns; CUDA's unpooling forgets channels last.
ResultLayout layout_of(const std::string& op) {
  if (op == "aten::_linalg_solve_ex" || op == "aten::linalg_lu_factor_ex") {
    return ResultLayout::kContiguous;
  }
  if (!backing().is_cpu() && (op == "aten::max_unpool2d" || op == "aten::max_unpool3d")) {
    return ResultLayout::kLikeFirstArgument;
  }
  return ResultLayout::kAsGiven;
}

}  // namespace

void run_with_rules(const OperatorHandle& op, const MacSays& mac_says, torch::jit::Stack* stack) {
  const auto* rules = mac_says.rules;
  const auto check = mac_says.check;
  const auto& schema = op.schema();
  const size_t first = stack->size() - schema.arguments().size();
  const auto format = mac_says.layout == ResultLayout::kLikeFirstArgument
                          ? stack->at(first).toTensor().suggest_memory_format()
                          : c10::MemoryFormat::Contiguous;
  const auto on_backing = [&] {
    if (mac_says.composed != nullptr && must_be_deterministic() && mac_says.composed(stack)) {
      return;
    }
    if (mac_says.mend != nullptr && (is_strict() || !backing().is_cpu())) {
      run_deferring(op, mac_says.mend, stack);
    } else {
      run_on_backing(op, DispatchKey::Dense, stack);
    }
    if (mac_says.layout != ResultLayout::kAsGiven) lay_out(*stack, first, format);
  };
  alert_if_not_deterministic(schema, *stack, first);
  if (is_strict()) {
    unless_recorded(schema.name(), [&] {
      if (check != nullptr) check(schema, stack->data() + first);
      if (rules != nullptr) enforce(*rules, schema, *stack, first);
    });
  }
  const auto run = [&] {
    if (rules != nullptr) {
      if (has_dtypes(rules->on_host, *stack, first)) {
        return run_on_host(op, stack, ledger::Kind::kNative);
      }
      if (has_dtypes(rules->widened, *stack, first)) {
        profiler::Scope scope;
        if (profiler::wants(profiler::Kind::kOperation)) scope.begin_operation(op, *stack);
        return run_widened(*rules, op, stack, on_backing);
      }
    }
    on_backing();
  };
  if (C10_LIKELY(!has_dtypes(mac_says.numbers.dtypes, *stack, first))) return run();
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) scope.begin_operation(op, *stack);
  mac_says.numbers.compute(stack, first, run);
}

namespace {

// Knows what there is to know about its operator from the start: no search at each call.
struct DenseKernel : c10::OperatorKernel {
  explicit DenseKernel(const std::string& op) : mac_says(what_mac_says(op)) {}
  void operator()(const OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    run_with_rules(op, mac_says, stack);
  }
  const MacSays mac_says;
};

bool is_sum(const std::string& op) {
  const auto name = op.substr(0, op.find('.'));
  return name == "aten::add" || name == "aten::add_" || name == "aten::sub" || name == "aten::sub_";
}

struct SparseKernel : c10::OperatorKernel {
  explicit SparseKernel(const std::string& op)
      : rules(rules_of(op)), multiplies(op.rfind("aten::mul", 0) == 0), adds(is_sum(op)) {}

  void operator()(const OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const size_t first = stack->size() - op.schema().arguments().size();
    bool coalesces = false;
    if ((multiplies || adds) && is_strict()) {
      const auto a = (*stack)[first].toTensor();
      const auto b = (*stack)[first + 1].toTensor();
      if (multiplies) unless_recorded(op.schema().name(), [&] { check_sparse_product(a, b); });
      coalesces = adds && a.is_sparse() && b.is_sparse() && a._nnz() != 0 && b._nnz() != 0;
    }
    const auto on_backing = [&] { run_on_backing(op, DispatchKey::Sparse, stack); };
    if (rules != nullptr && has_dtypes(rules->widened, *stack, first)) {
      run_widened(*rules, op, stack, on_backing);
    } else {
      on_backing();
    }
    if (coalesces) coalesce_sum(stack->back().toTensor());
  }

  const Rules* rules;
  const bool multiplies;
  const bool adds;
};

void host_kernel(const OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  run_on_host(op, stack, ledger::Kind::kNative);
}

// Registrations last as long as their library object: these live for ever.
torch::Library* new_library(const char* name_space, DispatchKey key) {
  return new torch::Library(torch::Library::IMPL, name_space, key, __FILE__, __LINE__);
}

// By name, because the dispatcher would prefer an operator's generic decomposition to a fallback;
// but only where the backing device has a kernel of its own.
class ByName {
 public:
  explicit ByName(DispatchKey mps, DispatchKey functionality)
      : mps_(mps),
        backing_(c10::toRuntimePerBackendFunctionalityKey(
            functionality, c10::toBackendComponent(backing().key))) {}

  template <class MakeKernel>
  void add(const std::string& full, const MakeKernel& make_kernel) {
    const auto dot = full.find('.', full.find("::"));
    const auto name = full.substr(0, dot);
    const auto overload = dot == std::string::npos ? "" : full.substr(dot + 1);
    const auto op = c10::Dispatcher::singleton().findOp({name, overload});
    if (!op || op->hasKernelForDispatchKey(mps_)) return;
    if (op->hasKernelForDispatchKey(backing_)) {
      implement(full, make_kernel());
    } else if (is_known_to_cpu_only(*op)) {
      implement(full, torch::CppFunction::makeFromBoxedFunction<&host_kernel>());
    }
  }

 private:
  void implement(const std::string& full, torch::CppFunction&& kernel) {
    const auto name_space = full.substr(0, full.find("::"));
    auto& library = libraries_[name_space];
    if (library == nullptr) library = new_library(name_space.c_str(), mps_);
    library->impl(full.c_str(), std::move(kernel));
  }

  // What a Mac has and CUDA has not (histograms), and what is not made of other operators.
  bool is_known_to_cpu_only(const OperatorHandle& op) const {
    if (backing().is_cpu() || mps_ != DispatchKey::MPS) return false;
    for (const auto composite :
         {DispatchKey::CompositeImplicitAutograd, DispatchKey::CompositeExplicitAutograd,
          DispatchKey::CompositeExplicitAutogradNonFunctional}) {
      if (op.hasKernelForDispatchKey(composite)) return false;
    }
    return op.hasKernelForDispatchKey(DispatchKey::CPU);
  }

  DispatchKey mps_;
  DispatchKey backing_;
  std::unordered_map<std::string, torch::Library*> libraries_;
};

}  // namespace

MacSays what_mac_says(const std::string& op) {
  const auto name = op.substr(0, op.find('.'));
  return {rules_of(op),   check_for(name), mend_for(name), composed_in_place_of(op),
          numbers_of(op), layout_of(op)};
}

MacSays what_mac_says(const c10::OperatorName& op) {
  return what_mac_says(op.overload_name.empty() ? op.name : op.name + "." + op.overload_name);
}

void run_without_rules(const OperatorHandle& op, torch::jit::Stack* stack) {
  run_on_backing(op, DispatchKey::Dense, stack);
}

void register_boxed_kernels(const NativeOperators& native) {
  new_library("_", DispatchKey::MPS)
      ->fallback(torch::CppFunction::makeFromBoxedFunction<&missing_operator>());

  ByName dense(DispatchKey::MPS, DispatchKey::Dense);
  for (const auto& name : native.always_on_cpu) {
    new_library("aten", DispatchKey::MPS)
        ->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&always_on_cpu>());
  }
  for (const auto& name : native.dense) {
    dense.add(name, [&] {
      return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<DenseKernel>(name));
    });
  }
  // Sparse tensors have no fallback: what is not here gets the dispatcher's own error.
  ByName sparse(DispatchKey::SparseMPS, DispatchKey::Sparse);
  for (const auto& name : native.sparse) {
    sparse.add(name, [&] {
      return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<SparseKernel>(name));
    });
  }
}

}  // namespace openmps
