// The Mac that this process pretends to be, as far as the device's own code needs it.
// Filled in from Python at activation; openmps/mac/ owns the facts.
#pragma once

#include <cstddef>

namespace openmps {

struct Mac {
  size_t recommended_max_bytes = 0;
  size_t max_buffer_bytes = 0;
  unsigned macos_major = 0;
  unsigned macos_minor = 0;
};

extern Mac g_mac;
inline const Mac& mac() { return g_mac; }

}  // namespace openmps
