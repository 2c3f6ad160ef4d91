// The CPU's fused attention in float16 and bfloat16, through float32: scores and weights are not
// rounded.
#pragma once

#include <ATen/core/stack.h>

namespace openmps::half {

// As Engine::HalfKernel: for _scaled_dot_product_flash_attention_for_cpu and its backward.
bool attention(torch::jit::Stack* stack, size_t first);
bool attention_backward(torch::jit::Stack* stack, size_t first);

}  // namespace openmps::half
