#pragma once

namespace openmps {

// torch.vmap over attention on mps, in place of PyTorch's kernel, which asserts there. Call once.
void register_vmapped_attention();

}  // namespace openmps
