// Memory of the runtime's that kernels reach: stacks, threadgroup memory, values that are bound to
// buffers. It lies where an index that goes astray meets nothing else (slots.h).
#pragma once

#include <stddef.h>

#include "api.h"

namespace openmps {

// Zeros, or with `closed` memory that nobody may touch yet. Null: there is none.
char* map_isolated(size_t bytes, bool closed = false);
void unmap_isolated(void* memory, size_t bytes);

}  // namespace openmps

// The same for Python.
OPENMPS_EXPORT void* openmps_map_isolated(uint64_t bytes);
OPENMPS_EXPORT void openmps_unmap_isolated(void* memory, uint64_t bytes);
