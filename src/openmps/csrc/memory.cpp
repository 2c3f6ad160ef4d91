#include "memory.h"

#include "backing.h"
#include "mac.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>

namespace openmps::memory {
namespace {

std::atomic<int64_t> g_current{0};
std::atomic<int64_t> g_peak{0};
std::atomic<int64_t> g_taken{0};  // bytes ever allocated
std::atomic<int64_t> g_taken_at_reset{0};
std::atomic<int64_t> g_freed_at_reset{0};
std::atomic<int64_t> g_limit{std::numeric_limits<int64_t>::max()};

// As PyTorch's allocators print sizes.
std::string readable(uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB"};
  int unit = 0;
  double value = static_cast<double>(bytes);
  while (unit < 3 && value > 1024) {
    value /= 1024;
    ++unit;
  }
  std::ostringstream text;
  text << std::fixed << std::setprecision(unit == 0 ? 0 : 2) << value << ' ' << kUnits[unit];
  return text.str();
}

constexpr auto relaxed = std::memory_order_relaxed;

c10::CachingDeviceAllocator::DeviceStats backing_statistics() {
  return c10::getDeviceAllocator(backing().device.type())->getDeviceStats(backing().device.index());
}

constexpr size_t kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

[[noreturn]] void out_of_memory(size_t allocated, size_t wanted) {
  const auto other = reserved_bytes() - std::min(reserved_bytes(), allocated_bytes());
  TORCH_CHECK(false, "MPS backend out of memory (MPS allocated: ", readable(allocated),
              ", other allocations: ", readable(other),
              ", max allowed: ", readable(static_cast<uint64_t>(g_limit.load(relaxed))),
              "). Tried to allocate ", readable(wanted),
              " on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit "
              "for memory allocations (may cause system failure).");
}

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
  g_current.fetch_sub(static_cast<int64_t>(bytes), relaxed);
}

void check_limit(size_t bytes) {
  if (g_current.load(relaxed) + static_cast<int64_t>(bytes) > g_limit.load(relaxed)) {
    out_of_memory(allocated_bytes(), bytes);
  }
}

void check_grown(size_t bytes) {
  if (g_current.load(relaxed) > g_limit.load(relaxed)) {
    out_of_memory(allocated_bytes() - bytes, bytes);
  }
}

void set_high_watermark(double ratio) {
  TORCH_CHECK(ratio >= 0.0 && ratio <= 2.0, "invalid high watermark ratio ", ratio);
  g_limit.store(
      ratio == 0.0 ? std::numeric_limits<int64_t>::max()
                   : static_cast<int64_t>(ratio * static_cast<double>(mac().recommended_max_bytes)),
      relaxed);
}

double initial_high_watermark() {
  const char* text = std::getenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO");
  return text == nullptr ? 1.7 : std::strtod(text, nullptr);
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
  const auto taken = g_taken.load(relaxed);
  allocated.allocated = taken - g_taken_at_reset.load(relaxed);
  allocated.freed = taken - allocated.current - g_freed_at_reset.load(relaxed);
  stats.reserved_bytes[kAll] =
      backing().is_cpu() ? allocated : backing_statistics().reserved_bytes[kAll];
  return stats;
}

void reset_peak() { g_peak.store(g_current.load(relaxed), relaxed); }

void reset_accumulated() {
  const auto taken = g_taken.load(relaxed);
  g_taken_at_reset.store(taken, relaxed);
  g_freed_at_reset.store(taken - g_current.load(relaxed), relaxed);
}

}  // namespace openmps::memory
