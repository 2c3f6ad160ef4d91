// Copies between mps and any device, and reading one number. The mps side takes part as its backing
// view, so a copy moves bytes exactly once.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "engine/registrar.h"

namespace openmps {

// _to_copy.
at::Tensor copy_to(const at::Tensor& self, std::optional<c10::ScalarType> dtype,
                   std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                   std::optional<bool> pin_memory, bool non_blocking,
                   std::optional<c10::MemoryFormat> memory_format);

void register_copies(Registrar& registrar);

}  // namespace openmps
