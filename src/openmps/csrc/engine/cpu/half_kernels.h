// Operators that in float16 and bfloat16 take the CPU's kernels many times as long as in float32:
// here they are computed through float32 and rounded once, as a Mac accumulates.
#pragma once

#include <string>

#include "engine/engine.h"

namespace openmps {

// For "aten::name.overload"; nullptr for all that the CPU's own kernels do well.
Engine::HalfKernel half_kernel_on_cpu(const std::string& op);

}  // namespace openmps
