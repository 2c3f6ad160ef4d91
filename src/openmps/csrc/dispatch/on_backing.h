// Runs an operator on the same bytes, on the engine's device. Boxed, so that one function serves
// all operators of all libraries, aten and custom ones alike.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace openmps {

// What a schema says of the arguments, read once and not at each call. The numbers are -1 for what
// an operator does not have.
struct Signature {
  Signature() = default;
  explicit Signature(const c10::OperatorHandle& op);

  bool writes(size_t argument) const { return ((written >> argument) & 1) != 0; }

  uint64_t written = 0;  // a bit for each argument that is written to
  int generator = -1;    // of an operator that is random
  int other = -1;        // the argument named so, which may be a number
};

// Whatever a Mac would say to it. `functionality` is Dense or Sparse.
void run_on_backing(const c10::OperatorHandle& op, c10::DispatchKey functionality,
                    torch::jit::Stack* stack, const Signature& signature);
inline void run_on_backing(const c10::OperatorHandle& op, c10::DispatchKey functionality,
                           torch::jit::Stack* stack) {
  run_on_backing(op, functionality, stack, Signature(op));
}

}  // namespace openmps
