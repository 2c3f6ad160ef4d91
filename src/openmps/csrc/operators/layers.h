#pragma once

namespace openmps {

// Lets autograd see linear as the operators that it is made of on the CPU, so that gradients have
// the CPU's bits. Without it linear is one operator with a gradient of its own, as on a Mac.
void register_composed_linear();

}  // namespace openmps
