// The allocator that stands in front of the CPU's, so that an operator's result is entered in the
// simulated allocator before its bytes are taken.
#pragma once

#include <c10/core/Allocator.h>

namespace openmps {

void install_tracking_allocator();

// Memory for a tensor from whoever is behind it, or from an allocator of the program's own.
c10::DataPtr allocate_on_cpu(size_t bytes);

}  // namespace openmps
