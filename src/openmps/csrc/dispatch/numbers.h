// Operators for which a Mac's kernel defines other numbers than the CPU's kernel gives.
#pragma once

#include <ATen/core/stack.h>
#include <c10/util/FunctionRef.h>

#include <string>

#include "mac/rules.h"

namespace openmps {

struct Numbers {
  // Leaves results on the stack in place of the arguments, which stand there from `first`. `run` is
  // the operator as it is everywhere else.
  using Compute = void (*)(torch::jit::Stack* stack, size_t first, c10::function_ref<void()> run);

  Compute compute = nullptr;
  DtypeMask dtypes = 0;  // of one of the arguments; for all others there is nothing to do
};

// For "aten::name.overload".
Numbers numbers_of(const std::string& op);

}  // namespace openmps
