// Sparse COO tensors have no bytes of their own: they hold dense index and value tensors, and those
// are what changes sides between mps and the backing device. Compressed layouts (CSR and the like)
// do not exist on mps: PyTorch's own headers refuse to make them, on a Mac too.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

namespace openmps {

using Convert = c10::function_ref<at::Tensor(const at::Tensor&)>;

// The sparse tensor made of `sparse`'s parts, each passed through `convert`. Throws
// NotImplementedError for any other layout.
at::Tensor convert_sparse(const at::Tensor& sparse, Convert convert);

// After an in-place operator: gives `mps` the parts and shape that `backing` has now.
void settle_sparse(const at::Tensor& mps, const at::Tensor& backing, Convert convert);

// Throws what a Mac says of a product of a sparse and a dense tensor whose sizes differ.
void check_sparse_product(const at::Tensor& a, const at::Tensor& b);

// A Mac's sum of two sparse tensors is coalesced, unless one of them has no entries.
void coalesce_sum(const at::Tensor& sum);

}  // namespace openmps
