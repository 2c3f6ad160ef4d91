// What is asked of an engine that looks at indices before its kernels do.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace openmps {

struct IndexBounds {
  int64_t low;
  int64_t high;    // excluded
  int64_t exempt;  // fine wherever it lies; `low` if there is none
  // What is outside of the bounds and inside of these goes unreported.
  int64_t quiet_low = 0;
  int64_t quiet_high = 0;
};
inline constexpr int64_t kLowestIndex = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kHighestIndex = std::numeric_limits<int64_t>::max();

// `before`, the index, `after`; with its place in the tensor, if there is a `between`: `before`,
// the place, `between`, the index, `after`.
struct IndexErrorText {
  std::string before;
  std::string after;
  std::string between;
};

}  // namespace openmps
