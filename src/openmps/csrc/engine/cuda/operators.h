// What CUDA does at once, where PyTorch makes choices for mps that cost a GPU dear: cuDNN's batch
// norms, dropout, linear, layer norm, optimizer steps; and indices that every network has, looked
// at without a stack.
#pragma once

#include "engine/registrar.h"

namespace openmps {

void register_cuda_operators(Registrar& registrar);

}  // namespace openmps
