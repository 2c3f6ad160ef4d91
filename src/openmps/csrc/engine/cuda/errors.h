// What CUDA's errors look like to an mps program.
#pragma once

#include <c10/util/Exception.h>

namespace openmps {

// Whether the card itself, and not an operator's argument, is the cause.
bool is_cuda_failure(const c10::Error& error);

// Call it in a catch block. A card that is full, and one that has failed, are told as a Mac would
// tell them, with the cause; every other error is thrown on as it is.
[[noreturn]] void rethrow_cuda_error(const c10::Error& error);

}  // namespace openmps
