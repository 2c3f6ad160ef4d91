#pragma once

namespace openmps {

// Makes PyTorch's mps hooks ours, even if it has looked them up already.
void install_hooks();

}  // namespace openmps
