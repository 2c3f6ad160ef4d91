// Zero pages next to buffers. Metal allows reads a little out of bounds; where a buffer ends at the
// end of mapped memory, such a read gets a page of zeros instead of ending the process.
#pragma once

#include <stdint.h>

#include <atomic>

namespace openmps {

struct Dispatch;

class Padding {
 public:
  // Maps a page at `address` if that is next to one of the dispatch's buffers and free. Called in
  // signal handlers of any worker.
  bool provide(const Dispatch& dispatch, uintptr_t address);
  // Unmaps all; returns how many there were.
  uint32_t remove();

 private:
  static constexpr uint32_t kMost = 640;  // 31 buffers, 17 pages after and 1 before, and some more

  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  uint32_t count_ = 0;
  uintptr_t pages_[kMost];
};

}  // namespace openmps
