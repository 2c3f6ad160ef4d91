// PyTorch allows one accelerator per process and calls a CUDA build's accelerator CUDA, GPU or not:
// with mps beside it, at::getAccelerator() throws "Cannot have both MPS and cuda." in every
// backward(). A Mac has no CUDA, so in an active process the other hooks answer isBuilt() == false.
// They live inside libtorch and cannot be replaced after `import torch`; instead the live object
// gets a copy of its virtual table in which that one slot is ours.
#include "torch_interfaces/one_accelerator.h"

#include <ATen/detail/AcceleratorHooksInterface.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/detail/XPUHooksInterface.h>

#include "torch_interfaces/virtual_table.h"

namespace openmps {
namespace {

using at::AcceleratorHooksInterface;

bool not_built(const void*) { return false; }

void answer_not_built(const AcceleratorHooksInterface& hooks) {
  if (!hooks.isBuilt()) return;
  replace_virtual_function(const_cast<AcceleratorHooksInterface*>(&hooks),
                           virtual_slot(&AcceleratorHooksInterface::isBuilt),
                           reinterpret_cast<void*>(&not_built));
}

}  // namespace

void hide_other_accelerators() {
  answer_not_built(at::detail::getCUDAHooks());
  answer_not_built(at::detail::getXPUHooks());
}

}  // namespace openmps
