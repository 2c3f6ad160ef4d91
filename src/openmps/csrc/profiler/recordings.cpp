#include "profiler/recordings.h"

#include <utility>

namespace openmps::profiler {

int Recordings::open(uint32_t kinds) {
  open_[++last_].kinds = kinds;
  return last_;
}

Recording Recordings::close(int handle) {
  auto node = open_.extract(handle);
  return node.empty() ? Recording() : std::move(node.mapped());
}

void Recordings::add(const Record& record) {
  for (auto& [handle, recording] : open_) {
    if (!(recording.kinds & bit(record.kind))) continue;
    if (recording.records.size() < kMostRecords) {
      recording.records.push_back(record);
    } else {
      ++recording.dropped;
    }
  }
}

uint32_t Recordings::kinds() const {
  uint32_t kinds = 0;
  for (const auto& [handle, recording] : open_) kinds |= recording.kinds;
  return kinds;
}

}  // namespace openmps::profiler
