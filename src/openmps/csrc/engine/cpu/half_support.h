// What kernels for float16 and bfloat16 share: which tensors they take, and how numbers get to
// float32 and back.
#pragma once

#include <ATen/core/Tensor.h>

#include "tensor/header.h"

namespace openmps::half {

inline bool is_half(c10::ScalarType type) { return type == c10::kHalf || type == c10::kBFloat16; }

// What is unusual is left to the operator's own kernel, which may have something to say about it.
inline bool is_usual(const at::Tensor& tensor, c10::ScalarType type) {
  return is_mps(tensor) && is_plain(tensor) && tensor.scalar_type() == type && !tensor.is_neg() &&
         !tensor._is_zerotensor() && tensor.numel() > 0;
}

// The numbers of an mps tensor, on the CPU. Nobody's memory but ours: call it untracked.
at::Tensor widened(const at::Tensor& mps);

// A new mps tensor that lies as `wide`, a tensor of the CPU, with its numbers rounded.
at::Tensor narrowed(const at::Tensor& wide, c10::ScalarType type);

}  // namespace openmps::half
