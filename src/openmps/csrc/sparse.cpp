#include "sparse.h"

#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>

#include "header.h"

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

}  // namespace openmps
