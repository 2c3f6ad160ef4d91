#include "engine/cuda/lazy_operators.h"

#include <ATen/ops/add_ops.h>
#include <ATen/ops/clone_native.h>
#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/hardswish_backward_ops.h>
#include <ATen/ops/hardswish_ops.h>
#include <ATen/ops/hardtanh_backward_ops.h>
#include <ATen/ops/hardtanh_ops.h>
#include <ATen/ops/leaky_relu_backward_ops.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/max_pool2d_with_indices_backward_ops.h>
#include <ATen/ops/max_pool2d_with_indices_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/native_batch_norm_backward_ops.h>
#include <ATen/ops/native_batch_norm_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/silu_backward_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/threshold_backward_ops.h>
#include <torch/library.h>

#include "engine/engine.h"
#include "operators/batch_norm.h"
#include "operators/complex_sums.h"
#include "operators/convolution.h"
#include "operators/copy.h"
#include "torch_interfaces/no_warnings.h"

namespace openmps {
namespace {

using at::Tensor;

// The two dtypes as which a source is viewed.
bool are_views(c10::ScalarType from, c10::ScalarType to) {
  return (from == c10::kFloat && to == c10::kBFloat16) ||
         (from == c10::kBFloat16 && to == c10::kFloat);
}

bool keeps_format(std::optional<c10::MemoryFormat> format) {
  return format.value_or(c10::MemoryFormat::Preserve) == c10::MemoryFormat::Preserve;
}

Tensor lazy_copy_to(const Tensor& self, std::optional<c10::ScalarType> dtype,
                    std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                    std::optional<bool> pin_memory, bool non_blocking,
                    std::optional<c10::MemoryFormat> format) {
  const bool stays = is_mps(self) && is_plain(self) && (!device || *device == kMpsDevice) &&
                     (!layout || *layout == c10::kStrided) && !pin_memory.value_or(false);
  if (lazy::exist() && stays && keeps_format(format) && self.is_non_overlapping_and_dense() &&
      are_views(self.scalar_type(), dtype.value_or(self.scalar_type())) &&
      !profiler::wants(profiler::Kind::kCopy) && !profiler::wants(profiler::Kind::kOperation)) {
    auto viewed = lazy::view_as(self, *dtype);
    if (viewed.defined()) return viewed;
  }
  return copy_to(self, dtype, layout, device, pin_memory, non_blocking, format);
}

// An activation in place keeps a clone of what it replaces.
Tensor lazy_clone_of(const Tensor& self, std::optional<c10::MemoryFormat> format) {
  if (lazy::exist() && self.is_non_overlapping_and_dense() && keeps_format(format)) {
    auto viewed = lazy::view_as(self, self.scalar_type());
    if (viewed.defined()) return viewed;
  }
  return at::native::clone(self, format);
}

// The gradient of what was viewed as bfloat16 by a convolution is viewed as float32 in its turn.
template <class Op, class Signature = typename Op::schema>
struct LazyConvolutionBackward;
template <class Op, class Result, class... Rest>
struct LazyConvolutionBackward<Op, Result(const Tensor&, const Tensor&, const Tensor&, Rest...)> {
  static Result run(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                    Rest... rest) {
    auto results = ConvolutionBackward<Op>::run(gradient, input, weight, rest...);
    if (lazy::exist() && lazy::can_be_viewed(input)) lazy::make_lazy(std::get<0>(results));
    return results;
  }
};

template <class Op, class Kernel>
void add_kernel(torch::Library& library) {
  const auto name = full_name<Op>();
  library.impl(name.c_str(), &Kernel::run);
}

template <class Op, unsigned kLazy, unsigned kRounded = kNone>
void add_on_source(torch::Library& library) {
  add_kernel<Op, OnSource<Op, kLazy, kRounded>>(library);
}

}  // namespace

void register_lazy_operators() {
  const NoWarnings of_kernels_that_are_replaced;
  // Registrations last as long as their library object: this one lives for ever.
  auto& m =
      *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::MPS, __FILE__, __LINE__);
  add_kernel<at::_ops::add_Tensor, Sum<OnSource<at::_ops::add_Tensor, kFirstTwo>>>(m);
  add_kernel<at::_ops::add__Tensor, SumInPlace<OnSource<at::_ops::add__Tensor, kFirstTwo>>>(m);
  add_on_source<at::_ops::relu, kFirst>(m);
  add_on_source<at::_ops::relu_, kFirst>(m);
  add_on_source<at::_ops::silu, kFirst>(m);
  add_on_source<at::_ops::silu_, kFirst>(m);
  add_on_source<at::_ops::hardswish, kFirst>(m);
  add_on_source<at::_ops::hardswish_, kFirst>(m);
  add_on_source<at::_ops::hardtanh, kFirst>(m);
  add_on_source<at::_ops::hardtanh_, kFirst>(m);
  add_on_source<at::_ops::leaky_relu, kFirst>(m);
  add_on_source<at::_ops::leaky_relu_, kFirst>(m);
  add_on_source<at::_ops::max_pool2d_with_indices, kFirst>(m);
  // A block that scales its channels by what it finds in their means.
  add_on_source<at::_ops::mean_dim, kFirst>(m);
  add_on_source<at::_ops::sum_dim_IntList, kFirst>(m);
  add_on_source<at::_ops::mul_Tensor, kFirst, kSecond>(m);
  // The gradient comes first, and may have been rounded.
  add_on_source<at::_ops::threshold_backward, kSecond, kFirst>(m);
  add_on_source<at::_ops::silu_backward, kSecond, kFirst>(m);
  add_on_source<at::_ops::hardswish_backward, kSecond, kFirst>(m);
  add_on_source<at::_ops::hardtanh_backward, kSecond, kFirst>(m);
  add_on_source<at::_ops::leaky_relu_backward, kSecond, kFirst>(m);
  add_on_source<at::_ops::max_pool2d_with_indices_backward, kSecond, kFirst>(m);
  add_kernel<at::_ops::convolution_backward,
             LazyConvolutionBackward<at::_ops::convolution_backward>>(m);
  m.impl("_to_copy", lazy_copy_to);
  m.impl("clone", lazy_clone_of);
  if (!engine().shares_memory_with_host()) return;  // CUDA's own batch norms know lazy inputs
  add_kernel<at::_ops::native_batch_norm, BatchNorm<OnSource<at::_ops::native_batch_norm, kFirst>>>(
      m);
  add_on_source<at::_ops::native_batch_norm_backward, kSecond, kFirst>(m);
}

}  // namespace openmps
