// torch.use_deterministic_algorithms on a Mac.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

namespace openmps {

// Warns or throws, as the program asked, for an operator whose kernel on a Mac may answer
// differently from run to run. The arguments stand on the stack from `first`.
void alert_if_not_deterministic(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                                size_t first);

}  // namespace openmps
