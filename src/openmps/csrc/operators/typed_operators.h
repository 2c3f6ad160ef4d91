// The operators that small models call most, each with a typed kernel (dispatch/typed.h).
#pragma once

#include "engine/registrar.h"

namespace openmps {

void register_typed_operators(Registrar& registrar);

}  // namespace openmps
