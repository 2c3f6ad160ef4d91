// Operators that a Mac has no kernel for.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "ledger/ledger.h"

namespace openmps {

// What happens to any operator without an mps kernel: an error, or the CPU if the program asked for
// that (PYTORCH_ENABLE_MPS_FALLBACK).
void missing_operator(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack);

// The few that a Mac runs on the CPU whatever the program asked for.
void always_on_cpu(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack);

// Copies there and back. `as` is what the ledger calls it.
void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                 ledger::Kind as = ledger::Kind::kFallback);

}  // namespace openmps
