#include "sparse.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>

#include "header.h"

namespace openmps {
namespace {

using at::SparseCsrTensorImpl;
using at::SparseTensorImpl;

template <class Impl>
Impl& impl_of(const at::Tensor& t) {
  return *static_cast<Impl*>(t.unsafeGetTensorImpl());
}

bool is_coo(const at::Tensor& t) { return t.layout() == c10::kSparse; }

bool is_compressed(const at::Tensor& t) {
  const auto layout = t.layout();
  return layout == c10::kSparseCsr || layout == c10::kSparseCsc || layout == c10::kSparseBsr ||
         layout == c10::kSparseBsc;
}

void check_supported(const at::Tensor& t) {
  TORCH_CHECK_NOT_IMPLEMENTED(is_coo(t) || is_compressed(t), "mps has no tensors of layout ",
                              t.layout(), (t.is_quantized() ? " (quantized)" : ""),
                              (t.is_nested() ? " (nested)" : ""),
                              ". Move the tensor to the CPU first.");
}

// Bare headers of either device; the parts decide which.
at::Tensor coo(const at::Tensor& like, at::Tensor indices, at::Tensor values) {
  const auto key = is_mps(values)     ? c10::DispatchKey::SparseMPS
                   : values.is_cuda() ? c10::DispatchKey::SparseCUDA
                                      : c10::DispatchKey::SparseCPU;
  auto result = at::detail::make_tensor<SparseTensorImpl>(c10::DispatchKeySet(key), like.dtype());
  auto& from = impl_of<SparseTensorImpl>(like);
  auto& to = impl_of<SparseTensorImpl>(result);
  to.raw_resize_(from.sparse_dim(), from.dense_dim(), like.sizes());
  to.set_indices_and_values_unsafe(std::move(indices), std::move(values));
  to.set_coalesced(from.coalesced());
  return result;
}

at::Tensor compressed(const at::Tensor& like, const at::Tensor& outer, const at::Tensor& inner,
                      const at::Tensor& values) {
  const auto key = is_mps(values)     ? c10::DispatchKey::SparseCsrMPS
                   : values.is_cuda() ? c10::DispatchKey::SparseCsrCUDA
                                      : c10::DispatchKey::SparseCsrCPU;
  auto result = at::detail::make_tensor<SparseCsrTensorImpl>(
      c10::DispatchKeySet(key), values.device(), like.layout(), like.dtype());
  impl_of<SparseCsrTensorImpl>(result).set_member_tensors(outer, inner, values, like.sizes());
  return result;
}

}  // namespace

at::Tensor convert_sparse(const at::Tensor& sparse, Convert convert) {
  check_supported(sparse);
  if (is_coo(sparse)) {
    auto& impl = impl_of<SparseTensorImpl>(sparse);
    return coo(sparse, convert(impl.indices()), convert(impl.values()));
  }
  auto& impl = impl_of<SparseCsrTensorImpl>(sparse);
  return compressed(sparse, convert(impl.compressed_indices()), convert(impl.plain_indices()),
                    convert(impl.values()));
}

void settle_sparse(const at::Tensor& mps, const at::Tensor& backing, Convert convert) {
  if (is_coo(backing)) {
    auto& from = impl_of<SparseTensorImpl>(backing);
    auto& to = impl_of<SparseTensorImpl>(mps);
    to.raw_resize_(from.sparse_dim(), from.dense_dim(), backing.sizes());
    to.set_indices_and_values_unsafe(convert(from.indices()), convert(from.values()));
    to.set_coalesced(from.coalesced());
    return;
  }
  auto& from = impl_of<SparseCsrTensorImpl>(backing);
  impl_of<SparseCsrTensorImpl>(mps).set_member_tensors(convert(from.compressed_indices()),
                                                       convert(from.plain_indices()),
                                                       convert(from.values()), backing.sizes());
}

}  // namespace openmps
