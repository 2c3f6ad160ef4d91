#include "engine/cpu/half_support.h"

#include <ATen/ops/empty_strided.h>

#include "engine/engine.h"
#include "tensor/allocation_tracker.h"

namespace openmps::half {

at::Tensor widened(const at::Tensor& mps) {
  const BackingView view(mps, /*written=*/false);
  return view.get().to(c10::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

at::Tensor narrowed(const at::Tensor& wide, c10::ScalarType type) {
  const Tracking tracked;
  const auto result =
      at::empty_strided(wide.sizes(), wide.strides(), at::TensorOptions(kMpsDevice).dtype(type));
  BackingView(result).get().copy_(wide);
  return result;
}

}  // namespace openmps::half
