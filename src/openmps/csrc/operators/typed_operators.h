// The operators with typed kernels.
#pragma once

namespace openmps {

// Tells them what the Mac says about them, once the rules are complete.
void prepare_typed_kernels();

}  // namespace openmps
