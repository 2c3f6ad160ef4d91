// Convolutions in float16 and bfloat16, through float32.
#pragma once

#include <ATen/core/stack.h>

namespace openmps::half {

// As Engine::HalfKernel: for aten::convolution and aten::convolution_backward.
bool convolution(torch::jit::Stack* stack, size_t first);
bool convolution_backward(torch::jit::Stack* stack, size_t first);

}  // namespace openmps::half
