#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>

namespace openmps {

// How Metal calls a type, in the names of PyTorch's kernels; "unknown" for one that it has not.
std::string_view metal_name(c10::ScalarType type);

}  // namespace openmps
