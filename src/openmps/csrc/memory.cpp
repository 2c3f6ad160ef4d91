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

// Bytes in use are what was ever allocated less what was ever released: one atomic addition for
// each allocation and each release, which small operators feel.
std::atomic<int64_t> g_allocated{0};
std::atomic<int64_t> g_released{0};
std::atomic<int64_t> g_peak{0};
std::atomic<int64_t> g_allocated_at_reset{0};
std::atomic<int64_t> g_released_at_reset{0};
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

// Releases first: read the other way round, one in between would make the sum too small.
int64_t in_use() {
  const auto released = g_released.load(relaxed);
  return g_allocated.load(relaxed) - released;
}

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
  const auto released = g_released.load(relaxed);
  const auto now = g_allocated.fetch_add(size, relaxed) + size - released;
  auto peak = g_peak.load(relaxed);
  while (now > peak && !g_peak.compare_exchange_weak(peak, now, relaxed)) {
  }
}

void count_release(size_t bytes) noexcept {
  g_released.fetch_add(static_cast<int64_t>(bytes), relaxed);
}

void check_limit(size_t bytes) {
  if (in_use() + static_cast<int64_t>(bytes) > g_limit.load(relaxed)) {
    out_of_memory(allocated_bytes(), bytes);
  }
}

void check_grown(size_t bytes) {
  if (in_use() > g_limit.load(relaxed)) {
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

size_t allocated_bytes() noexcept { return static_cast<size_t>(std::max<int64_t>(0, in_use())); }

size_t reserved_bytes() {
  if (backing().is_cpu()) return allocated_bytes();
  return static_cast<size_t>(backing_statistics().reserved_bytes[kAll].current);
}

c10::CachingDeviceAllocator::DeviceStats statistics() {
  c10::CachingDeviceAllocator::DeviceStats stats;
  auto& allocated = stats.allocated_bytes[kAll];
  allocated.current = in_use();
  allocated.peak = g_peak.load(relaxed);
  allocated.allocated = g_allocated.load(relaxed) - g_allocated_at_reset.load(relaxed);
  allocated.freed = g_released.load(relaxed) - g_released_at_reset.load(relaxed);
  stats.reserved_bytes[kAll] =
      backing().is_cpu() ? allocated : backing_statistics().reserved_bytes[kAll];
  return stats;
}

void reset_peak() { g_peak.store(in_use(), relaxed); }

void reset_accumulated() {
  g_allocated_at_reset.store(g_allocated.load(relaxed), relaxed);
  g_released_at_reset.store(g_released.load(relaxed), relaxed);
}

}  // namespace openmps::memory
