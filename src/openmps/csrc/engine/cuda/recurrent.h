// Recurrent layers and cells by cuDNN's and CUDA's fused kernels, where `cuda` would take them.
#pragma once

#include "engine/registrar.h"

namespace openmps {

void register_recurrent_on_cuda(Registrar& registrar);
void register_recurrent_cells_on_cuda(Registrar& registrar);

}  // namespace openmps
