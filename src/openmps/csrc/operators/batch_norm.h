// Batch norms write the running statistics while they train, which their schema does not say.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

#include "tensor/header.h"
#include "tensor/twin.h"

namespace openmps {

template <class Kernel>
struct BatchNorm {
  using OptionalTensor = std::optional<at::Tensor>;

  static std::tuple<at::Tensor, at::Tensor, at::Tensor> run(
      const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
      const OptionalTensor& mean, const OptionalTensor& variance, bool training, double momentum,
      double epsilon) {
    if (training) {
      own_bytes(mean);
      own_bytes(variance);
    }
    return Kernel::run(input, weight, bias, mean, variance, training, momentum, epsilon);
  }

  static void own_bytes(const OptionalTensor& statistics) {
    if (statistics && is_mps(*statistics)) give_own_bytes(statistics->storage());
  }
};

}  // namespace openmps
