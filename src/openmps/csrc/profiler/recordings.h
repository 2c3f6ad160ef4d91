// Records kept in memory. Several recordings may be open: a trace, a capture, a check.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "profiler/record.h"

namespace openmps::profiler {

struct Recording {
  uint32_t kinds = kAllKinds;
  std::vector<Record> records;
  size_t dropped = 0;  // came after the recording was full
};

// Not for several threads at once: the profiler's lock guards it.
class Recordings {
 public:
  static constexpr size_t kMostRecords = 1'000'000;

  int open(uint32_t kinds);
  Recording close(int handle);  // empty for a handle that is not open
  void add(const Record& record);
  uint32_t kinds() const;  // that any open recording wants

 private:
  std::map<int, Recording> open_;
  int last_ = 0;
};

}  // namespace openmps::profiler
