// What a record is in the ledger (openmps check): an event of a line of the program.
#pragma once

#include <ATen/core/stack.h>

#include <string>

#include "profiler/record.h"

namespace openmps::profiler {

// Whether a Mac waits for this operator, because an index among its arguments is a mask.
bool indexes_by_mask(const std::string& name, const torch::jit::Stack& stack);

// From here to `leave_ledger`: what runs within an operator or a fallback is of the same line.
void enter_ledger(Record& record);
void leave_ledger(Kind kind);
void note_doubles(const Tensors& tensors);

void write_in_ledger(const Record& record);

}  // namespace openmps::profiler
