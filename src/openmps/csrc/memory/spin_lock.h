// A lock for a few dozen nanoseconds of work: half the cost of a std::mutex where nobody waits,
// which is nearly always. A thread that does wait hands over its core.
#pragma once

#include <sched.h>

#include <atomic>

namespace openmps {

class SpinLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  void wait() const {
    constexpr int kTries = 64;
    for (int i = 0; i < kTries; ++i) {
      if (!held_.load(std::memory_order_relaxed)) return;
    }
    sched_yield();
  }

  std::atomic<bool> held_{false};
};

}  // namespace openmps
