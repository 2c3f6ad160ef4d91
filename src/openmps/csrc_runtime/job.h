// One launch while it runs. Lives on the launching thread's stack; workers see it between joining
// and leaving the pool's crowd, signal handlers while their thread's Worker points to it.
#pragma once

#include <atomic>

#include "api.h"
#include "padding.h"
#include "pieces.h"
#include "recruiting.h"

namespace openmps {

struct Worker;

struct Job {
  const Dispatch* dispatch;
  Launch launch;
  Pieces pieces;
  uint64_t batch;          // pieces taken at once
  uint64_t dynamic_bytes;  // of all [[threadgroup(n)]] memory
  uint64_t deadline_ns;    // on the monotonic clock; 0: none

  std::atomic<uint64_t> next{0};      // the first piece that nobody has taken
  std::atomic<uint32_t> stop{kFine};  // why everybody is to leave
  std::atomic<uint32_t> participants{1};
  Worker* launcher;
  Recruiting recruiting;
  Report* report;             // written by whoever sets `stop`
  unsigned position[3] = {};  // of the piece that it was in
  Padding padding;
};

}  // namespace openmps
