#pragma once

#include "engine/registrar.h"

namespace openmps {

void register_max_pool1d(Registrar& registrar);

}  // namespace openmps
