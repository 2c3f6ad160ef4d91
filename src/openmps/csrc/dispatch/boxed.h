// The kernel behind almost every operator.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <vector>

#include "dispatch/checks.h"
#include "dispatch/deferred_errors.h"
#include "dispatch/determinism.h"
#include "dispatch/numbers.h"
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
struct MacSays {
  const Rules* rules = nullptr;
  Check check = nullptr;
  Mend mend = nullptr;
  Composed composed = nullptr;
  Numbers numbers = {};
  ResultLayout layout = ResultLayout::kAsGiven;
};

// For "aten::name.overload". Valid for ever, once the rules are complete.
MacSays what_mac_says(const std::string& op);
MacSays what_mac_says(const c10::OperatorName& op);

void register_boxed_kernels(const NativeOperators& native);

// Runs `op` on the backing device, whatever a Mac would say to it.
void run_without_rules(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// Runs `op` as the Mac would: its refusals first, then on the backing device.
void run_with_rules(const c10::OperatorHandle& op, const MacSays& mac_says,
                    torch::jit::Stack* stack);

}  // namespace openmps
