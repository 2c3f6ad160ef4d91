#include "tensor/sparse.h"

#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>

#include "tensor/header.h"

namespace openmps {
namespace {

using at::SparseTensorImpl;

SparseTensorImpl& sparse_impl(const at::Tensor& t) {
  return *static_cast<SparseTensorImpl*>(t.unsafeGetTensorImpl());
}

void set_parts(SparseTensorImpl& to, const at::Tensor& like, Convert convert) {
  auto& from = sparse_impl(like);
  to.raw_resize_(from.sparse_dim(), from.dense_dim(), like.sizes());
  to.set_indices_and_values_unsafe(convert(from.indices()), convert(from.values()));
  to.set_coalesced(from.coalesced());
}

}  // namespace

at::Tensor convert_sparse(const at::Tensor& sparse, Convert convert) {
  TORCH_CHECK_NOT_IMPLEMENTED(!at::sparse_csr::is_sparse_compressed(sparse),
                              "Could not run 'new_compressed_tensor' from the '", kMpsDevice,
                              "' device.)");
  TORCH_CHECK_NOT_IMPLEMENTED(sparse.layout() == c10::kSparse, "mps has no tensors of layout ",
                              sparse.layout(), (sparse.is_quantized() ? " (quantized)" : ""),
                              (sparse.is_nested() ? " (nested)" : ""),
                              ". Keep such a tensor on the CPU.");
  const auto key = is_mps(sparse)
                       ? c10::toRuntimePerBackendFunctionalityKey(
                             c10::DispatchKey::Sparse, c10::toBackendComponent(backing().key))
                       : c10::DispatchKey::SparseMPS;
  auto result = at::detail::make_tensor<SparseTensorImpl>(c10::DispatchKeySet(key), sparse.dtype());
  set_parts(sparse_impl(result), sparse, convert);
  return result;
}

void settle_sparse(const at::Tensor& mps, const at::Tensor& backing, Convert convert) {
  set_parts(sparse_impl(mps), backing, convert);
}

void check_sparse_product(const at::Tensor& a, const at::Tensor& b) {
  if (a.is_sparse() == b.is_sparse()) return;
  const auto& dense = a.is_sparse() ? b : a;
  const auto& sparse = a.is_sparse() ? a : b;
  if (dense.numel() == 1 || sparse._nnz() == 0) return;
  TORCH_CHECK(dense.sizes().equals(sparse.sizes()),
              "mul(dense, sparse): sizes must match exactly (no broadcasting): ", dense.sizes(),
              " vs ", sparse.sizes());
}

void coalesce_sum(const at::Tensor& sum) {
  if (sum.is_coalesced()) return;
  const auto coalesced = sum.coalesce();
  auto& impl = sparse_impl(sum);
  impl.set_indices_and_values_unsafe(coalesced._indices(), coalesced._values());
  impl.set_coalesced(true);
}

}  // namespace openmps
