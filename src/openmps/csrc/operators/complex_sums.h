// Sums of complex numbers, which on a Mac are sums of their parts. The backing device multiplies by
// alpha first, even by 1, and infinity times 0i is not a number.
#pragma once

#include <ATen/native/Resize.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>

#include "dispatch/typed.h"

namespace openmps {

inline bool adds_parts(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  return self.is_complex() && self.dtype() == other.dtype() && is_mps(self) && is_mps(other) &&
         !alpha.isComplex() && alpha.toDouble() == 1.0;
}

inline at::Tensor parts_of(const at::Tensor& tensor) {
  return at::view_as_real(tensor.resolve_conj().resolve_neg());
}

template <class Kernel>
struct Sum {
  static at::Tensor run(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
    if (C10_LIKELY(!adds_parts(self, other, alpha))) return Kernel::run(self, other, alpha);
    return at::view_as_complex(Kernel::run(parts_of(self), parts_of(other), alpha));
  }
};

template <class Kernel>
struct SumInPlace {
  static at::Tensor& run(at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
    if (C10_LIKELY(!adds_parts(self, other, alpha)) || self.is_conj() || self.is_neg()) {
      return Kernel::run(self, other, alpha);
    }
    auto parts = at::view_as_real(self);
    Kernel::run(parts, parts_of(other), alpha);
    return self;
  }
};

template <class Op, class Functional>
struct SumOut {
  static at::Tensor& run(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                         at::Tensor& out) {
    if (C10_LIKELY(!adds_parts(self, other, alpha)) || !is_mps(out)) {
      return OnBacking<Op>::run_boxed(self, other, alpha, out);
    }
    const auto sum = Functional::call(self, other, alpha);
    TORCH_CHECK(c10::canCast(sum.scalar_type(), out.scalar_type()), "result type ",
                sum.scalar_type(), " can't be cast to the desired output type ", out.scalar_type());
    at::native::resize_output(out, sum.sizes());
    return out.copy_(sum);
  }
};

}  // namespace openmps
