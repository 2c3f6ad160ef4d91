// The random operators, with the numbers that a Mac draws: by the kernels of device/random.metal,
// on every engine.
#pragma once

#include "engine/registrar.h"

namespace openmps {

// `with_poisson`: whether the installed torch has that operator on a Mac.
void register_random_operators(Registrar& registrar, bool with_poisson);

}  // namespace openmps
