// Operators for which the CUDA engine has better than the general kernel, or a Mac's detour through
// several others.
#pragma once

namespace openmps {

void register_gpu_operators();

}  // namespace openmps
