// Runs an operator on the same bytes, on the engine's device. Boxed, so that one function serves
// all operators of all libraries, aten and custom ones alike.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace openmps {

// Whatever a Mac would say to it. `functionality` is Dense or Sparse.
void run_on_backing(const c10::OperatorHandle& op, c10::DispatchKey functionality,
                    torch::jit::Stack* stack);

}  // namespace openmps
