// Errors that a Mac's kernels find while they run, such as an index out of range. Natively the
// operator has long returned by then, and the program sees the error when it next waits for the
// device. The CPU's kernels find them at once: here they become reports (reports.h), and the
// operator is given arguments that work. On a GPU the arguments are looked at beforehand, by
// kernels of ours (guards.h), because PyTorch's would end the process.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <string>

namespace openmps {

// Looks at the arguments of an operator whose kernel has just failed, or on a GPU is about to run.
// Returns whether they were mended, and what was found reported: on the CPU engine only if a Mac's
// kernel would have found the fault while running.
using Mend = bool (*)(torch::jit::Stack& arguments);

// The function for "aten::gather" and the like, or nullptr for an operator whose errors come at
// once.
Mend mend_for(const std::string& op);

}  // namespace openmps
