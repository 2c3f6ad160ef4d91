// Errors that a Mac's kernels find while they run, such as an index out of range. Natively the
// operator has long returned by then, and the program sees the error when it next waits for the
// device. Here they become reports (engine/reports.h), and the operator is given arguments that
// work: after its kernel has raised, or before it runs, as the engine says
// (Engine::checks_indices_first).
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <string>

namespace openmps {

// Returns whether it has repaired the arguments of an operator, and reported what was found. After
// a kernel has raised: only if a Mac's kernel would have found the fault while running.
using Repair = bool (*)(torch::jit::Stack& arguments);

// The function for "aten::gather" and the like, or nullptr for an operator whose errors come at
// once.
Repair repair_for(const std::string& op);

}  // namespace openmps
