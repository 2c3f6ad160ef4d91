// Operators on lists of tensors (_foreach_add_), with which optimizers and clipping work.
#pragma once

#include "engine/registrar.h"

namespace openmps {

void register_foreach_operators(Registrar& registrar);

}  // namespace openmps
