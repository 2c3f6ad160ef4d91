// Queues a built-in Metal kernel on the GPU.
#pragma once

#include "engine/builtin_kernels.h"

namespace openmps {

// `function` is a CUfunction.
void launch_on_cuda(void* function, uint32_t threads, c10::ArrayRef<KernelArgument> arguments);

}  // namespace openmps
