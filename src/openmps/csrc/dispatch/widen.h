// Dtypes that a Mac computes in and the backing device's kernels do not: the operator runs on wider
// copies of its arguments, and what it made or wrote is narrowed again.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "mac/rules.h"

namespace openmps {

// Of all tensors, and lists of tensors, that stand on the stack from `first`.
DtypeMask dtypes_on(const torch::jit::Stack& stack, size_t first);

// Replaces the arguments by the results, computed in a wider dtype where the backing device needs
// it. `run` is the operator itself, for mps arguments.
void run_widened(const DtypeRules& rules, const c10::OperatorHandle& op, torch::jit::Stack* stack,
                 c10::function_ref<void()> run);

}  // namespace openmps
