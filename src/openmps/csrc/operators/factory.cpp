// New tensors: memory from the mps allocator, nothing run on the backing device.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>
#include <torch/library.h>

#include "tensor/allocator.h"
#include "ledger/ledger.h"
#include "mac/mac.h"
#include "mac/rules.h"

namespace openmps {
namespace {

using at::ScalarType;
using at::Tensor;

constexpr c10::DispatchKeySet kMpsKeys(c10::DispatchKey::MPS);

void check_factory(std::optional<ScalarType> dtype, std::optional<at::Layout> layout,
                   std::optional<bool> pin_memory) {
  TORCH_CHECK_NOT_IMPLEMENTED(layout.value_or(at::kStrided) == at::kStrided,
                              "only strided tensors are supported on MPS");
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  check_precision(c10::dtype_or_default(dtype));
}

void refuse_dimensions(size_t count) {
  const auto text = c10::str("MPS supports tensors with dimensions <= 16, but got ", count, ".");
  ledger::add(ledger::Kind::kLimit, "dimensions", text);
  TORCH_CHECK(ledger::finds_all(), text);
}

const Tensor& fill_if_deterministic(const Tensor& tensor) {
  if (at::globalContext().deterministicAlgorithms() &&
      at::globalContext().deterministicFillUninitializedMemory()) {
    at::native::fill_empty_deterministic_(const_cast<Tensor&>(tensor));
  }
  return tensor;
}

Tensor empty(c10::SymIntArrayRef size, std::optional<ScalarType> dtype,
             std::optional<at::Layout> layout, std::optional<at::Device>,
             std::optional<bool> pin_memory, std::optional<at::MemoryFormat> memory_format) {
  check_factory(dtype, layout, pin_memory);
  if (size.size() > kMostDimensions && is_strict()) refuse_dimensions(size.size());
  return fill_if_deterministic(
      at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), mps_allocator(), kMpsKeys,
                                c10::dtype_or_default(dtype), memory_format));
}

Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                     std::optional<ScalarType> dtype, std::optional<at::Layout> layout,
                     std::optional<at::Device>, std::optional<bool> pin_memory) {
  check_factory(dtype, layout, pin_memory);
  return fill_if_deterministic(at::detail::empty_strided_generic(
      C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), mps_allocator(), kMpsKeys,
      c10::dtype_or_default(dtype)));
}

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
}

}  // namespace
}  // namespace openmps
