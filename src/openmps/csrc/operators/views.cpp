// Views: a new header over the same mps storage. The backing device is not asked.
#include <ATen/ops/_lazy_clone_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "tensor/lazy_bytes.h"
#include "tensor/twin.h"

namespace openmps {
namespace {

// A lazy clone of a lazy storage would stand for the same token.
at::Tensor lazy_clone(const at::Tensor& self) {
  write_lazy_bytes(self.storage());
  if (!make_shareable(*self.storage().unsafeGetStorageImpl())) return self.clone();
  return at::native::_lazy_clone(self);
}

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  m.impl("_lazy_clone", lazy_clone);
  m.impl("unfold", TORCH_FN(at::native::unfold));
}

}  // namespace
}  // namespace openmps
