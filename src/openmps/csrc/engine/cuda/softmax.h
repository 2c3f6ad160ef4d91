// softmax and log_softmax of half precision to float32, which autocast asks for, in one kernel.
#pragma once

#include "engine/registrar.h"

namespace openmps {

void register_softmax(Registrar& registrar);

}  // namespace openmps
