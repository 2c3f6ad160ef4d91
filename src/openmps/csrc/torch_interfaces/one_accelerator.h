#pragma once

namespace openmps {

// A process has one accelerator; make it mps. See one_accelerator.cpp.
void hide_other_accelerators();

}  // namespace openmps
