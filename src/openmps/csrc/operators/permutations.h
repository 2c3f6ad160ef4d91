// randperm as a Mac draws it: in one of three ways, by length.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <optional>

namespace openmps {

at::Tensor& randperm_out(int64_t n, std::optional<at::Generator> given, at::Tensor& result);

}  // namespace openmps
