// Operators that PyTorch's CPU kernels refuse while algorithms are to be deterministic, and a Mac's
// do not: composed of others.
#pragma once

#include <string>

#include "engine/engine.h"

namespace openmps {

// nullptr for all other operators.
Engine::DeterministicKernel deterministic_cpu_kernel(const std::string& op);

}  // namespace openmps
