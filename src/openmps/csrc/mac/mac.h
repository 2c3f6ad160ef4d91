// The Mac that this process pretends to be, as far as the device's own code needs it.
// Filled in from Python at activation; openmps/mac/ owns the facts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace openmps {

struct Mac {
  size_t recommended_max_bytes = 0;
  size_t max_buffer_bytes = 0;
  unsigned macos_major = 0;
  unsigned macos_minor = 0;
};

extern Mac g_mac;
inline const Mac& mac() { return g_mac; }

inline bool macos_at_least(unsigned major, unsigned minor) {
  return mac().macos_major > major || (mac().macos_major == major && mac().macos_minor >= minor);
}

// ---- what is the same for every Mac

// Of an MPSGraph tensor.
inline constexpr size_t kMostDimensions = 16;
// Of recommended memory: where allocations fail, and where the allocator begins to collect.
inline constexpr double kHighWatermark = 1.7;
inline constexpr double kLowWatermark = 1.4;
// For which PyTorch has a Metal kernel for attention of many queries.
inline constexpr std::array<int64_t, 7> kPrefillHeadSizes = {32, 64, 72, 80, 96, 128, 256};

}  // namespace openmps
