// tril and triu with out=. PyTorch's CPU kernel takes the batches of `out` for contiguous ones and
// writes beyond its end.
#include <ATen/native/Resize.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/tril_ops.h>
#include <ATen/ops/triu.h>
#include <ATen/ops/triu_ops.h>
#include <torch/library.h>

#include "dispatch/typed.h"

namespace openmps {
namespace {

using at::Tensor;

// The diagonal's number is a symbol in newer releases.
template <class Schema>
struct DiagonalOf;
template <class Diagonal>
struct DiagonalOf<Tensor&(const Tensor&, Diagonal, Tensor&)> {
  using type = Diagonal;
};

template <class Into, class Make>
struct Triangle {
  using Diagonal = typename DiagonalOf<typename Into::schema>::type;

  static Tensor& run(const Tensor& self, Diagonal diagonal, Tensor& out) {
    if (out.is_same(self) || (out.is_contiguous() && out.sizes() == self.sizes())) {
      return OnBacking<Into>::run(self, diagonal, out);
    }
    const auto made = Make::call(self, diagonal);
    at::native::resize_output(out, made.sizes());
    return out.copy_(made);
  }
};

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("tril.out", &Triangle<at::_ops::tril_out, at::_ops::tril>::run);
  m.impl("triu.out", &Triangle<at::_ops::triu_out, at::_ops::triu>::run);
}

}  // namespace
}  // namespace openmps
