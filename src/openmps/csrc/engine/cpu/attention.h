#pragma once

#include "operators/attention.h"

namespace openmps {

at::Tensor attention_on_cpu(const AttentionInputs& inputs);

}  // namespace openmps
