// Other operators whose kernel for float16 or bfloat16 does not use the processor's vectors.
#pragma once

#include <ATen/core/stack.h>

#include <string>

#include "engine/engine.h"

namespace openmps::half {

// For "aten::name.overload"; nullptr for all others.
Engine::HalfKernel other_kernel(const std::string& op);

}  // namespace openmps::half
