// Without gradients the CPU pools rows by a kernel that keeps no indices, in a tenth of the time.
// It chooses it by device; on mps it would be the pooling of planes.
#include "engine/cpu/max_pool1d.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/max_pool1d_native.h>
#include <ATen/ops/max_pool1d_with_indices.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include "ledger/ledger.h"
#include "profiler/profiler.h"
#include "tensor/allocation_tracker.h"
#include "tensor/header.h"

namespace openmps {
namespace {

using at::Tensor;

// Whoever watches operators sees those of a Mac.
bool is_watched() {
  return profiler::wants(profiler::Kind::kOperation) || ledger::on() ||
         c10::impl::dispatch_mode_enabled();
}

Tensor max_pool1d(const Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride,
                  at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil) {
  const bool plain = is_mps(self) && self.scalar_type() == c10::kFloat &&
                     (self.key_set().raw_repr() & ~backing().plain_bits) == 0;
  if (!plain || is_recorded(self) || is_watched()) {
    return std::get<0>(at::max_pool1d_with_indices(self, kernel, stride, padding, dilation, ceil));
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  const BackingView view(self, /*written=*/false);
  const Tracking tracking;
  return new_on_mps(at::native::max_pool1d(view.get(), kernel, stride, padding, dilation, ceil));
}

}  // namespace

void register_max_pool1d(Registrar& registrar) {
  registrar.impl_with_autograd("max_pool1d", max_pool1d);
}

}  // namespace openmps
