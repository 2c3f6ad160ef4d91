#include "memory.h"

#include "backing.h"

#include <algorithm>
#include <atomic>

namespace openmps::memory {
namespace {

std::atomic<int64_t> g_current{0};
std::atomic<int64_t> g_peak{0};
std::atomic<int64_t> g_taken{0};  // bytes ever allocated, since the last reset_accumulated
std::atomic<int64_t> g_given{0};  // bytes ever released, likewise

constexpr auto relaxed = std::memory_order_relaxed;

c10::CachingDeviceAllocator::DeviceStats backing_statistics() {
  return c10::getDeviceAllocator(backing().device.type())->getDeviceStats(backing().device.index());
}

constexpr size_t kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

}  // namespace

void count_allocation(size_t bytes) noexcept {
  const auto size = static_cast<int64_t>(bytes);
  const auto now = g_current.fetch_add(size, relaxed) + size;
  g_taken.fetch_add(size, relaxed);
  auto peak = g_peak.load(relaxed);
  while (now > peak && !g_peak.compare_exchange_weak(peak, now, relaxed)) {
  }
}

void count_release(size_t bytes) noexcept {
  const auto size = static_cast<int64_t>(bytes);
  g_current.fetch_sub(size, relaxed);
  g_given.fetch_add(size, relaxed);
}

size_t allocated_bytes() noexcept {
  return static_cast<size_t>(std::max<int64_t>(0, g_current.load(relaxed)));
}

size_t reserved_bytes() {
  if (backing().is_cpu()) return allocated_bytes();
  return static_cast<size_t>(backing_statistics().reserved_bytes[kAll].current);
}

c10::CachingDeviceAllocator::DeviceStats statistics() {
  c10::CachingDeviceAllocator::DeviceStats stats;
  auto& allocated = stats.allocated_bytes[kAll];
  allocated.current = g_current.load(relaxed);
  allocated.peak = g_peak.load(relaxed);
  allocated.allocated = g_taken.load(relaxed);
  allocated.freed = g_given.load(relaxed);
  stats.reserved_bytes[kAll] =
      backing().is_cpu() ? allocated : backing_statistics().reserved_bytes[kAll];
  return stats;
}

void reset_peak() { g_peak.store(g_current.load(relaxed), relaxed); }

void reset_accumulated() {
  g_taken.store(0, relaxed);
  g_given.store(0, relaxed);
}

}  // namespace openmps::memory
