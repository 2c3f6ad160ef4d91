
#include "dispatch/boxed.h"

#include <torch/library.h>

#include "dispatch/determinism.h"
#include "dispatch/fallback.h"
#include "dispatch/widen.h"
#include "engine/engine.h"
#include "mac/rules.h"
#include "profiler/profiler.h"
#include "tensor/sparse.h"

namespace openmps {
namespace {

using c10::DispatchKey;
using c10::OperatorHandle;

// Whether the CPU's kernel complains of an index. Of anything else a Mac, too, complains at once.
bool is_found_late(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  for (const char* words : {"out of bounds", "out of range", "invalid max index", "valid range"}) {
    if (text.find(words) != std::string::npos) return true;
  }
  return false;
}

// A kernel that fails over what a Mac would notice later runs again, on arguments that work.
void run_deferring(const OperatorHandle& op, Repair repair, torch::jit::Stack* stack,
                   const Signature& signature) {
  const size_t count = op.schema().arguments().size();
  const size_t first = stack->size() - count;
  torch::jit::Stack arguments(stack->begin() + first, stack->end());
  if (engine().checks_indices_first()) {
    repair(arguments);
    std::move(arguments.begin(), arguments.end(), stack->begin() + first);
    return run_on_backing(op, DispatchKey::Dense, stack, signature);
  }
  try {
    return run_on_backing(op, DispatchKey::Dense, stack, signature);
  } catch (const c10::Error& error) {
    if (!is_found_late(error) || !repair(arguments)) throw;
  }
  stack->resize(first);
  const auto* alias = op.schema().arguments()[0].alias_info();
  if (alias != nullptr && alias->isWrite()) {
    stack->push_back(arguments[0]);  // an operator in place leaves its tensor alone
  } else {
    stack->insert(stack->end(), arguments.begin(), arguments.end());
    run_on_backing(op, DispatchKey::Dense, stack, signature);
  }
}

// An error is left to the operator's own kernel, for its words.
bool computed_by(Engine::HalfKernel kernel, const OperatorHandle& op, torch::jit::Stack* stack,
                 size_t first) {
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) scope.begin_operation(op, *stack);
  try {
    return kernel(stack, first);
  } catch (const c10::Error&) {
    return false;
  }
}

// Those that a number does not promote, unless it is complex.
DtypeMask floating_dtypes() {
  return mask_of(c10::kHalf) | mask_of(c10::kBFloat16) | mask_of(c10::kFloat) |
         mask_of(c10::kComplexHalf) | mask_of(c10::kComplexFloat);
}

// Whether a look at the dtypes seen is enough to know that the Mac refuses nothing. What is
// computed in is one of them, unless several are promoted, or one by a number.
bool passes(const DtypeRules& rules, DtypeMask seen, int other, const torch::jit::Stack& stack,
            size_t first) {
  if ((seen & rules.refused) != 0 || (seen & (seen - 1)) != 0) return false;
  if (other < 0) return true;
  const auto& value = stack[first + static_cast<size_t>(other)];
  return !value.isScalar() || ((seen & floating_dtypes()) != 0 && !value.isComplexDouble());
}

void lay_out(torch::jit::Stack& results, size_t first, c10::MemoryFormat format) {
  for (size_t i = first; i < results.size(); ++i) {
    results[i] = results[i].toTensor().contiguous(format);
  }
}

ResultLayout layout_of(const std::string& op) {
  // Matrices that LAPACK gives by columns.
  if (op == "aten::_linalg_solve_ex" || op == "aten::linalg_lu_factor_ex") {
    return ResultLayout::kContiguous;
  }
  return engine().loses_channels_last(op) ? ResultLayout::kLikeFirstArgument
                                          : ResultLayout::kAsGiven;
}

}  // namespace

void run_with_rules(const OperatorHandle& op, const OperatorRules& operator_rules,
                    torch::jit::Stack* stack) {
  const auto* rules = operator_rules.dtypes;
  const auto check = operator_rules.check;
  const auto& schema = op.schema();
  const size_t first = stack->size() - schema.arguments().size();
  const auto format = operator_rules.layout == ResultLayout::kLikeFirstArgument
                          ? stack->at(first).toTensor().suggest_memory_format()
                          : c10::MemoryFormat::Contiguous;
  const auto on_backing = [&] {
    if (operator_rules.deterministic != nullptr && must_be_deterministic() &&
        operator_rules.deterministic(stack)) {
      return;
    }
    if (operator_rules.half != nullptr && (dtypes_on(*stack, first) & kHalves) != 0 &&
        computed_by(operator_rules.half, op, stack, first)) {
      return;
    }
    if (operator_rules.repair != nullptr && (is_strict() || engine().checks_indices_first())) {
      run_deferring(op, operator_rules.repair, stack, operator_rules.signature);
    } else {
      run_on_backing(op, DispatchKey::Dense, stack, operator_rules.signature);
    }
    if (operator_rules.layout != ResultLayout::kAsGiven) lay_out(*stack, first, format);
  };
  if (must_be_deterministic()) alert_if_not_deterministic(schema, *stack, first);
  const auto seen = dtypes_on(*stack, first);
  const bool may_refuse =
      rules != nullptr && !passes(*rules, seen, operator_rules.signature.other, *stack, first);
  if ((check != nullptr || may_refuse) && is_strict()) {
    unless_recorded(schema.name(), [&] {
      if (check != nullptr) check(schema, stack->data() + first);
      if (may_refuse) enforce(*rules, schema, *stack, first);
    });
  }
  const auto special =
      operator_rules.numbers.dtypes | (rules == nullptr ? 0 : rules->on_host | rules->widened);
  if (C10_LIKELY((seen & special) == 0)) return on_backing();
  const auto run = [&] {
    if (rules != nullptr) {
      if ((seen & rules->on_host) != 0) {
        return run_on_host(op, stack, ledger::Kind::kNative);
      }
      if ((seen & rules->widened) != 0) {
        profiler::Scope scope;
        if (profiler::wants(profiler::Kind::kOperation)) scope.begin_operation(op, *stack);
        return run_widened(*rules, op, stack, on_backing);
      }
    }
    on_backing();
  };
  if ((seen & operator_rules.numbers.dtypes) == 0) return run();
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) scope.begin_operation(op, *stack);
  operator_rules.numbers.compute(stack, first, run);
}

namespace {

// Knows what there is to know about its operator from the start: no search at each call.
struct DenseKernel : c10::OperatorKernel {
  explicit DenseKernel(const std::string& op) : operator_rules(rules_of_operator(op)) {}
  void operator()(const OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    run_with_rules(op, operator_rules, stack);
  }
  const OperatorRules operator_rules;
};

bool is_sum(const std::string& op) {
  const auto name = op.substr(0, op.find('.'));
  return name == "aten::add" || name == "aten::add_" || name == "aten::sub" || name == "aten::sub_";
}

struct SparseKernel : c10::OperatorKernel {
  explicit SparseKernel(const std::string& op)
      : signature(rules_of_operator(op).signature),
        rules(dtype_rules_of(op)),
        multiplies(op.rfind("aten::mul", 0) == 0),
        adds(is_sum(op)) {}

  void operator()(const OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const size_t first = stack->size() - op.schema().arguments().size();
    bool coalesces = false;
    if ((multiplies || adds) && is_strict()) {
      const auto a = (*stack)[first].toTensor();
      const auto b = (*stack)[first + 1].toTensor();
      if (multiplies) unless_recorded(op.schema().name(), [&] { check_sparse_product(a, b); });
      coalesces = adds && a.is_sparse() && b.is_sparse() && a._nnz() != 0 && b._nnz() != 0;
    }
    const auto on_backing = [&] { run_on_backing(op, DispatchKey::Sparse, stack, signature); };
    if (rules != nullptr && (dtypes_on(*stack, first) & rules->widened) != 0) {
      run_widened(*rules, op, stack, on_backing);
    } else {
      on_backing();
    }
    if (coalesces) coalesce_sum(stack->back().toTensor());
  }

  const Signature signature;
  const DtypeRules* rules;
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

  // What a Mac has and the engine's device has not (CUDA: histograms), and what is not made of
  // other operators.
  bool is_known_to_cpu_only(const OperatorHandle& op) const {
    if (mps_ != DispatchKey::MPS) return false;
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

OperatorRules rules_of_operator(const std::string& op) {
  const auto dot = op.find('.');
  const auto name = op.substr(0, dot);
  const auto overload = dot == std::string::npos ? "" : op.substr(dot + 1);
  const auto handle = c10::Dispatcher::singleton().findSchema({name, overload});
  return {dtype_rules_of(op),
          check_for(name),
          repair_for(name),
          engine().deterministic_kernel(op),
          engine().half_kernel(op),
          numbers_of(op),
          layout_of(op),
          handle ? Signature(*handle) : Signature()};
}

OperatorRules rules_of_operator(const c10::OperatorName& op) {
  return rules_of_operator(op.overload_name.empty() ? op.name : op.name + "." + op.overload_name);
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
