// Layers that on a Mac have kernels of their own, and here are made of other operators, as on the
// CPU: with a Mac's checks in front.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "engine/registrar.h"

namespace openmps {

// Throws what a Mac throws for factors that are not floating or not on mps.
void check_linear(const at::Tensor& input, const at::Tensor& weight,
                  const std::optional<at::Tensor>& bias);

// linear, for autograd: made of other operators, it records its own gradient.
at::Tensor composed_linear(const at::Tensor& input, const at::Tensor& weight,
                           const std::optional<at::Tensor>& bias);

void register_layers(Registrar& registrar);

}  // namespace openmps
