// cuDNN reads the weights of recurrent layers from one buffer. On `cuda` flatten_parameters() lays
// them there. On mps it does nothing, and the bytes move when a layer first runs: behind storages
// that stay apart, so that a program sees other addresses and nothing else.
#pragma once

#include <ATen/core/Tensor.h>

namespace openmps {

struct WeightLayout {
  int64_t each;  // weights of one direction of one layer
  int64_t features;
  int64_t mode;
  int64_t hidden_size;
  int64_t layers;
  bool bidirectional;

  bool operator==(const WeightLayout& other) const;
};

// The buffer of these mps weights, on the GPU. Undefined if they cannot be moved, because somebody
// else names their storages, or they are results of operators.
at::Tensor flat_weights(const WeightLayout& layout, at::TensorList weights);

// A copy in such a buffer.
at::Tensor copy_flat(const WeightLayout& layout, at::TensorList weights);

}  // namespace openmps
