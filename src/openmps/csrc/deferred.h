// Errors that a Mac's kernels find while they run, such as an index out of range. Natively the
// operator has long returned by then, and the program sees the error when it next waits for the
// device. The CPU's kernels find them at once: here they become reports (reports.h), and the
// operator is given arguments that work.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <string>

namespace openmps {

// Looks at the arguments of an operator whose kernel has just failed. Returns whether a Mac's
// kernel would have found the fault only while running; then the fault is reported, and the
// arguments are mended.
using Mend = bool (*)(torch::jit::Stack& arguments);

// The function for "aten::gather" and the like, or nullptr for an operator whose errors come at
// once.
Mend mend_for(const std::string& op);

}  // namespace openmps
