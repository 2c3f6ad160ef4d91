// Operators for which a Mac waits for the device: to learn how large the result is, or what it is.
#pragma once

#include <c10/core/ScalarType.h>

#include <string>

namespace openmps {

// For "aten::nonzero".
bool waits_for_device(const std::string& op);

// An index of this dtype is a mask, which becomes indices first: how many only the device knows.
inline bool is_mask(c10::ScalarType type) { return type == c10::kBool || type == c10::kByte; }

}  // namespace openmps
