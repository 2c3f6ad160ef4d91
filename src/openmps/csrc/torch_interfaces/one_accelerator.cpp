// PyTorch allows one accelerator per process and calls a CUDA build's accelerator CUDA, GPU or not:
// with mps beside it, at::getAccelerator() throws "Cannot have both MPS and cuda." in every
// backward(). A Mac has no CUDA, so in an active process the other hooks answer isBuilt() == false.
// They live inside libtorch and cannot be replaced after `import torch`; instead the live object
// gets a copy of its virtual table in which that one slot is ours.
#include "torch_interfaces/one_accelerator.h"

#include <ATen/detail/AcceleratorHooksInterface.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/detail/XPUHooksInterface.h>

#include <cstddef>
#include <cstring>

namespace openmps {
namespace {

using at::AcceleratorHooksInterface;

bool not_built(const void*) { return false; }

// Itanium C++ ABI: a pointer to a virtual member function holds 1 + its offset in the table. arm64
// keeps the 1, which says that it is virtual, in the other word.
size_t is_built_slot() {
  bool (AcceleratorHooksInterface::*member)() const = &AcceleratorHooksInterface::isBuilt;
  struct {
    ptrdiff_t pointer;
    ptrdiff_t adjustment;
  } raw;
  static_assert(sizeof(raw) == sizeof(member), "unexpected C++ ABI");
  std::memcpy(&raw, &member, sizeof(raw));
#if defined(__aarch64__)
  constexpr ptrdiff_t kVirtual = 0;
#else
  constexpr ptrdiff_t kVirtual = 1;
#endif
  return static_cast<size_t>(raw.pointer - kVirtual) / sizeof(void*);
}

void answer_not_built(const AcceleratorHooksInterface& hooks) {
  if (!hooks.isBuilt()) return;
  // Two words before the table (offset to top, type info) belong to it. Its length is not recorded
  // anywhere; 128 slots are more than twice what the largest interface has.
  constexpr size_t kBefore = 2;
  constexpr size_t kSlots = 128;
  auto*** object = reinterpret_cast<void***>(const_cast<AcceleratorHooksInterface*>(&hooks));
  auto** copy = new void*[kBefore + kSlots];  // as immortal as the hooks object
  std::memcpy(copy, *object - kBefore, (kBefore + kSlots) * sizeof(void*));
  copy[kBefore + is_built_slot()] = reinterpret_cast<void*>(&not_built);
  *object = copy + kBefore;
}

}  // namespace

void hide_other_accelerators() {
  answer_not_built(at::detail::getCUDAHooks());
  answer_not_built(at::detail::getXPUHooks());
}

}  // namespace openmps
