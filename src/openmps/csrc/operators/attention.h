// scaled_dot_product_attention: what a Mac does, over the kernels that the engine has.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace openmps {

struct AttentionInputs {
  const at::Tensor& query;
  const at::Tensor& key;
  const at::Tensor& value;
  const std::optional<at::Tensor>& bias;  // added to the scores
  double dropout;
  bool causal;
  std::optional<double> scale;
  bool grouped;  // several heads of the queries share one of the keys

  bool needs_gradient() const;
  // In a graph that is being traced sizes may be symbols, which have no number.
  bool is_symbolic() const;
};

// The plain formula, of operators that every device has.
at::Tensor plain_attention(const AttentionInputs& inputs);

// PyTorch's chooser on the engine's device, for tensors of that shape and the kernels that the
// program allows: a number of at::sdp::SDPBackend, which the wheel's headers do not give.
enum AttentionKernel : int64_t { kMath = 0, kFlash = 1, kEfficient = 2, kCudnn = 3 };
int64_t choose_attention_kernel(const AttentionInputs& inputs);

// Attention as vmap calls it.
void register_vmapped_attention();

}  // namespace openmps
