// New tensors: memory from the mps allocator, nothing run on the backing device.
#include <ATen/EmptyTensor.h>
#include <torch/library.h>

#include "allocator.h"

namespace openmps {
namespace {

using at::ScalarType;
using at::Tensor;

constexpr c10::DispatchKeySet kMpsKeys(c10::DispatchKey::MPS);

void check_factory(std::optional<at::Layout> layout, std::optional<at::Device> device,
                   std::optional<bool> pin_memory) {
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided,
              "Only strided tensors can be made here; layout ", layout.value_or(at::kStrided));
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  TORCH_CHECK(!device || device->index() <= 0, "PyTorch has one mps device, mps:0; got ", *device);
}

Tensor empty(c10::SymIntArrayRef size, std::optional<ScalarType> dtype,
             std::optional<at::Layout> layout, std::optional<at::Device> device,
             std::optional<bool> pin_memory, std::optional<at::MemoryFormat> memory_format) {
  check_factory(layout, device, pin_memory);
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), mps_allocator(), kMpsKeys,
                                   c10::dtype_or_default(dtype), memory_format);
}

Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                     std::optional<ScalarType> dtype, std::optional<at::Layout> layout,
                     std::optional<at::Device> device, std::optional<bool> pin_memory) {
  check_factory(layout, device, pin_memory);
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size),
                                           C10_AS_INTARRAYREF_SLOW(stride), mps_allocator(),
                                           kMpsKeys, c10::dtype_or_default(dtype));
}

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
}

}  // namespace
}  // namespace openmps
