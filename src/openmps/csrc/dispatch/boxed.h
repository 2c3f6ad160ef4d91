// The kernel behind almost every operator.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <vector>

#include "dispatch/checks.h"
#include "dispatch/deferred_errors.h"
#include "dispatch/numbers.h"
#include "dispatch/on_backing.h"
#include "engine/engine.h"
#include "mac/rules.h"

namespace openmps {

// The operators that have kernels on the chosen Mac, by full name ("aten::add.Tensor").
struct NativeOperators {
  std::vector<std::string> dense;
  std::vector<std::string> sparse;
  std::vector<std::string> always_on_cpu;
};

// How results lie in memory, where the backing device's kernel lays them otherwise.
enum class ResultLayout { kAsGiven, kContiguous, kLikeFirstArgument };

// All that is special about one operator on the Mac; each pointer may be nullptr.
struct OperatorRules {
  const DtypeRules* dtypes = nullptr;
  Check check = nullptr;
  Repair repair = nullptr;
  Engine::DeterministicKernel deterministic = nullptr;
  Engine::HalfKernel half = nullptr;
  Numbers numbers = {};
  ResultLayout layout = ResultLayout::kAsGiven;
  Signature signature = {};
};

// For "aten::name.overload". Valid for ever, once the rules are complete.
OperatorRules rules_of_operator(const std::string& op);
OperatorRules rules_of_operator(const c10::OperatorName& op);

void register_boxed_kernels(const NativeOperators& native);

// Runs `op` as the Mac would: its refusals first, then on the backing device.
void run_with_rules(const c10::OperatorHandle& op, const OperatorRules& operator_rules,
                    torch::jit::Stack* stack);

}  // namespace openmps
