#pragma once

namespace openmps {

// The stand-in for an engine on which register_random_operators has no kernels yet.
void register_backing_dropout();

}  // namespace openmps
