// Looks at operators' arguments on a GPU, without waiting for it (device/guards.metal). What is
// wrong is reported (reports.h), and something that works comes back in its place.
#pragma once

#include <ATen/core/Tensor.h>

#include <limits>
#include <string>

namespace openmps::guards {

struct Bounds {
  int64_t low;
  int64_t high;    // excluded
  int64_t exempt;  // fine wherever it lies; `low` if there is none
  // What is outside of the bounds and inside of these goes unreported.
  int64_t quiet_low = 0;
  int64_t quiet_high = 0;
};
inline constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

// `before`, the index, `after`; with its place in the tensor, if there is a `between`: `before`,
// the place, `between`, the index, `after`.
struct Says {
  std::string before;
  std::string after;
  std::string between;
};

// `index` is an int or long tensor on mps.
at::Tensor index(const at::Tensor& index, const Bounds& bounds, const Says& says);

// Floats on mps, from 0 to 1.
at::Tensor probabilities(const at::Tensor& values, const std::string& words);

// A bool on mps.
void holds(const at::Tensor& assertion, const std::string& words);

}  // namespace openmps::guards
