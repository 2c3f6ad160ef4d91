// Recurrent layers as the CPU computes them, bit for bit: LSTM by oneDNN's fused layer, the others
// step by step, with the products of all inputs ahead of the steps.
#pragma once

#include "engine/registrar.h"
#include "operators/recurrent.h"

namespace openmps {

void register_recurrent_on_cpu(Registrar& registrar);

// The CPU's steps, made of operators on mps tensors, which autograd records.
RecurrentResults recurrent_in_steps(const RecurrentCall& call);

}  // namespace openmps
