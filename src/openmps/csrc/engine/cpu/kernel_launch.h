// Runs a built-in Metal kernel on PyTorch's own threads: a call of the kernel's loop in each.
#pragma once

#include "engine/builtin_kernels.h"

namespace openmps {

// `code` is a PlainEntry of include/msl/launch/launch.h.
void launch_on_cpu(void* code, uint32_t threads, c10::ArrayRef<KernelArgument> arguments);

}  // namespace openmps
