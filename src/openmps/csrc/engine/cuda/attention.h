#pragma once

#include "operators/attention.h"

namespace openmps {

at::Tensor attention_on_cuda(const AttentionInputs& inputs);

bool has_fused_inference_attention_on_cuda(const AttentionInputs& inputs);
at::Tensor fused_inference_attention_on_cuda(const AttentionInputs& inputs);

}  // namespace openmps
