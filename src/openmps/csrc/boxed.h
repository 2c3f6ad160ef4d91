#pragma once

namespace openmps {

// Gives every operator that the backing device has a kernel for the boxed kernel on mps, unless it
// has one there already, and makes the same kernel the fallback for all others. Call once, last.
void register_boxed_kernels();

}  // namespace openmps
