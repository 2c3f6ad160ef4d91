#include "operators/copy.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_to_copy_native.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/resize.h>
#include <ATen/ops/resize_as.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include "tensor/allocation_tracker.h"
#include "engine/engine.h"
#include "tensor/header.h"
#include "profiler/profiler.h"
#include "engine/reports.h"
#include "mac/rules.h"

namespace openmps {
namespace {

using at::Tensor;

// What the kernel behind a Mac's copies does about sizes: nothing into anything changes nothing,
// and an empty destination grows. copy_ has compared sizes long before, as on every device.
bool has_something_to_copy(Tensor& self, const Tensor& source) {
  if (source.numel() == 0 || self.is_same(source)) return false;
  if (self.numel() == 0) self.resize_as_(source);
  TORCH_CHECK(self.dim() >= source.dim(), "Destination ", self.sizes(),
              " doesn't match the broadcast shape ", source.sizes());
  return true;
}

bool must_resolve(const Tensor& self, const Tensor& source) {
  return !engine().copies_resolve_conjugates() && is_mps(self) != is_mps(source) &&
         (source.is_neg() || source.is_conj());
}

const DtypeMask kNotInMetal = mask_of(c10::kFloat8_e4m3fn) | mask_of(c10::kFloat8_e5m2) |
                              mask_of(c10::kFloat8_e4m3fnuz) | mask_of(c10::kFloat8_e5m2fnuz) |
                              mask_of(c10::kFloat8_e8m0fnu);

// A Mac moves the bytes of any dtype. What changes them, or their order, is a kernel, and Metal has
// none for these. From the CPU a cast is the CPU's.
void check_kernel_of_copy(const Tensor& self, const Tensor& source) {
  const bool casts = is_mps(source) && self.dtype() != source.dtype();
  if (!casts && self.strides() == source.strides()) return;
  for (const auto& tensor : {source, self}) {
    const bool missing = (mask_of(tensor) & kNotInMetal) != 0;
    if (missing && refuses("aten::copy_", c10::str("a copy of ", tensor.scalar_type()))) {
      TORCH_CHECK(false, "Undefined type ", tensor.scalar_type());
    }
  }
}

Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  if (C10_UNLIKELY(((mask_of(self) | mask_of(source)) & kNotInMetal) != 0)) {
    check_kernel_of_copy(self, source);
  }
  if (must_resolve(self, source)) {
    return copy_(self, source.resolve_conj().resolve_neg(), non_blocking);
  }
  profiler::Scope scope;
  // Natively some copies are kernels: operations.
  if (profiler::wants(profiler::Kind::kCopy) || profiler::wants(profiler::Kind::kOperation)) {
    scope.begin_copy(self, source, non_blocking);
  }
  BackingView to(self);
  BackingView from(source, /*written=*/false);
  try {
    at::_ops::copy_::redispatch(backing().keys, to.get(), from.get(), non_blocking);
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }
  if (!non_blocking && is_mps(self) != is_mps(source)) raise_report();
  return self;
}

Tensor copy_from(const Tensor& source, const Tensor& destination, bool non_blocking) {
  Tensor self = destination;
  return has_something_to_copy(self, source) ? copy_(self, source, non_blocking) : self;
}

Tensor copy_from_and_resize(const Tensor& source, const Tensor& destination) {
  destination.resize_(source.sizes());
  return copy_from(source, destination, /*non_blocking=*/false);
}

at::Scalar local_scalar_dense(const Tensor& self) {
  TORCH_CHECK(self.numel() > 0, "_local_scalar_dense: Empty tensor not supported");
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kCopy)) scope.begin_reading(self);
  const BackingView from(self, /*written=*/false);
  auto value = [&] {
    try {
      return at::_local_scalar_dense(from.get());
    } catch (const c10::Error& error) {
      engine().rethrow(error);
    }
  }();
  raise_report();  // of what came before: reading has waited for it
  return value;
}

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("copy_", copy_);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", local_scalar_dense);
}

}  // namespace

// What autocast does to every weight at every step, in one go: a backing tensor takes the copy, and
// is relabelled. Whoever watches copies sees them the usual way.
Tensor copy_to(const Tensor& self, std::optional<c10::ScalarType> dtype,
               std::optional<c10::Layout> layout, std::optional<c10::Device> device,
               std::optional<bool> pin_memory, bool non_blocking,
               std::optional<c10::MemoryFormat> memory_format) {
  const auto to = dtype.value_or(self.scalar_type());
  const bool stays = is_mps(self) && is_plain(self) && (!device || *device == kMpsDevice) &&
                     (!layout || *layout == c10::kStrided) && !pin_memory.value_or(false);
  const bool as_it_lies =
      memory_format.value_or(c10::MemoryFormat::Preserve) == c10::MemoryFormat::Preserve &&
      self.is_non_overlapping_and_dense();
  const bool usual = stays && as_it_lies && is_common_float(self.scalar_type()) &&
                     is_common_float(to) && !profiler::wants(profiler::Kind::kCopy) &&
                     !profiler::wants(profiler::Kind::kOperation);
  if (!usual || at::hasCallbacks()) {
    return at::native::_to_copy(self, dtype, layout, device, pin_memory, non_blocking,
                                memory_format);
  }
  const BackingView from(self, /*written=*/false);
  try {
    const Tracking tracking;
    Tensor result = at::detail::empty_strided_generic(self.sizes(), self.strides(),
                                                      backing_allocator(), backing().keys, to);
    at::_ops::copy_::redispatch(backing().keys, result, from.get(), non_blocking);
    relabel_fresh(result);
    return result;
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }
}

void register_copies(Registrar& registrar) { registrar.impl("_to_copy", copy_to); }

}  // namespace openmps
