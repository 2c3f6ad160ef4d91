#include "memory/simulated_allocator.h"

#include <c10/util/Logging.h>
#include <c10/util/flat_hash_map.h>
#include <pthread.h>

#include <cctype>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "ledger/ledger.h"
#include "mac/mac.h"
#include "memory/spin_lock.h"

namespace openmps::memory {
namespace {

struct Shared {
  SpinLock lock;
  std::unique_ptr<Pools> pools;
  ska::flat_hash_map<const void*, Buffer*> by_address;
};

// Never destroyed: tensors may be freed while the process ends.
Shared& g_shared = *new Shared();

using Lock = std::lock_guard<SpinLock>;

// Whether `end` is where a number that began at `text` ended properly.
bool is_whole(const char* text, const char* end) {
  if (end == text) return false;
  while (std::isspace(static_cast<unsigned char>(*end)) != 0) ++end;
  return *end == '\0';
}

// A Mac reads "abc" as 0, which lifts the limit. Nobody means that.
double ratio_from(const char* variable, double standard, const char* meaning) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return standard;
  char* end = nullptr;
  const double ratio = std::strtod(text, &end);
  TORCH_CHECK(is_whole(text, end), variable, " is \"", text, "\", which is not a number. ", meaning,
              "; the default is ", standard, ".");
  return ratio;
}

uint32_t verbosity_from_environment() {
  const char* text = std::getenv("PYTORCH_DEBUG_MPS_ALLOCATOR");
  if (text == nullptr) return 0;
  char* end = nullptr;
  const auto bits = std::strtol(text, &end, /*base=*/0);
  if (!is_whole(text, end)) {
    TORCH_WARN("PYTORCH_DEBUG_MPS_ALLOCATOR is \"", text,
               "\", which is not a number: nothing is logged. Add up what to log: 1 totals, "
               "2 allocations, 4 recycles, 8 releases, 16 the large pool only.");
    return 0;
  }
  return static_cast<uint32_t>(bits);
}

void log_line(const std::string& line) { LOG(INFO) << line; }

std::unique_ptr<Pools> open_pools() {
  // A program that is checked runs to its end, on whatever this machine has; the report compares.
  const auto most = ledger::finds_all() ? SIZE_MAX : mac().max_buffer_bytes;
  auto pools = std::make_unique<Pools>(
      Pools::Settings{mac().recommended_max_bytes, most, verbosity_from_environment(), log_line});
  pools->set_high_watermark(
      ratio_from("PYTORCH_MPS_HIGH_WATERMARK_RATIO", kHighWatermark,
                 "Use a multiple of the recommended memory from 0.0 (no limit) to 2.0"));
  pools->set_low_watermark(ratio_from("PYTORCH_MPS_LOW_WATERMARK_RATIO", kLowWatermark,
                                      "Use a multiple of the recommended memory from 0.0 (off) to "
                                      "PYTORCH_MPS_HIGH_WATERMARK_RATIO"));
  if (ledger::finds_all()) {
    pools->set_high_watermark(0.0);
    pools->set_low_watermark(0.0);
  }
  pools->log(verbosity::kProfiling,
             "Initializing heap allocator on unified device memory of size " +
                 readable(mac().recommended_max_bytes));
  return pools;
}

// A child of fork() must not inherit the lock from a thread that it does not have.
void survive_forks() {
  pthread_atfork([] { g_shared.lock.lock(); }, [] { g_shared.lock.unlock(); },
                 [] { g_shared.lock.unlock(); });
}

C10_NOINLINE void open_shared_pools() {
  g_shared.pools = open_pools();
  survive_forks();
}

// The caller holds the lock.
C10_ALWAYS_INLINE Pools& pools() {
  if (C10_UNLIKELY(g_shared.pools == nullptr)) open_shared_pools();
  return *g_shared.pools;
}

[[gnu::hot]] Bytes give_back_locked(Buffer* buffer) {
  const Bytes bytes{buffer->context, buffer->release};
  const auto size = buffer->size;
  const auto line = buffer->line;
  g_shared.pools->give_back(buffer);
  if (ledger::on()) {
    ledger::given_back(line, size, static_cast<size_t>(g_shared.pools->allocated().current),
                       g_shared.pools->driver_bytes());
  }
  return bytes;
}

// The line was found before the lock: finding it may wait for Python.
C10_NOINLINE Buffer* take_for_line(size_t bytes, ledger::Line line) {
  if (bytes >= mac().max_buffer_bytes && ledger::finds_all()) {
    ledger::add_from(line, ledger::Kind::kLimit, "buffer",
                     "Invalid buffer size: " + readable(bytes), bytes, 0);
  }
  const Lock lock(g_shared.lock);
  auto* buffer = pools().take(bytes);
  buffer->line = line;
  ledger::taken(line, buffer->size, static_cast<size_t>(pools().allocated().current),
                pools().driver_bytes());
  return buffer;
}

c10::CachingAllocator::Stat to_torch(const Stat& from) {
  c10::CachingAllocator::Stat stat;
  stat.current = from.current;
  stat.peak = from.peak;
  stat.allocated = from.allocated;
  stat.freed = from.freed;
  return stat;
}

}  // namespace

[[gnu::hot]] Buffer* take(size_t bytes) {
  if (ledger::on()) return take_for_line(bytes, ledger::line());
  const Lock lock(g_shared.lock);
  return pools().take(bytes);
}

[[gnu::hot]] Bytes give_back(Buffer* buffer) noexcept {
  const Lock lock(g_shared.lock);
  return give_back_locked(buffer);
}

void remember_address(const void* address, Buffer* buffer) {
  const Lock lock(g_shared.lock);
  g_shared.by_address[address] = buffer;
}

bool give_back_address(const void* address, Bytes* bytes) noexcept {
  const Lock lock(g_shared.lock);
  const auto found = g_shared.by_address.find(address);
  if (found == g_shared.by_address.end()) return false;
  *bytes = give_back_locked(found->second);
  g_shared.by_address.erase(found);
  return true;
}

Buffer* forget_address(const void* address) noexcept {
  const Lock lock(g_shared.lock);
  const auto found = g_shared.by_address.find(address);
  if (found == g_shared.by_address.end()) return nullptr;
  auto* buffer = found->second;
  g_shared.by_address.erase(found);
  return buffer;
}

void machine_has_no_more(size_t bytes, const std::string& cause) {
  const Lock lock(g_shared.lock);
  TORCH_CHECK(false, pools().shortage(rounded(bytes), ""),
              " They fit the Mac, and this machine has no more: ", cause);
}

void gpu_has_no_more(const std::string& cause) {
  const Lock lock(g_shared.lock);
  const auto limit = pools().high_limit();
  TORCH_CHECK(false, "MPS backend out of memory (MPS allocated: ", readable(pools().driver_bytes()),
              ", max allowed: ", limit == SIZE_MAX ? "unlimited" : readable(limit),
              "). What was asked for fits the Mac, and the GPU behind it has no more: ", cause);
}

bool is_open() noexcept {
  const Lock lock(g_shared.lock);
  return g_shared.pools != nullptr;
}

void empty_cache() {
  const Lock lock(g_shared.lock);
  pools().release_cached();
}

void set_high_watermark(double ratio) {
  const Lock lock(g_shared.lock);
  if (ledger::finds_all()) return;
  pools().set_high_watermark(ratio);
}

size_t allocated_bytes() {
  const Lock lock(g_shared.lock);
  return static_cast<size_t>(pools().allocated().current);
}

size_t driver_bytes() {
  const Lock lock(g_shared.lock);
  return pools().driver_bytes();
}

c10::CachingDeviceAllocator::DeviceStats statistics() {
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const Lock lock(g_shared.lock);
  c10::CachingDeviceAllocator::DeviceStats stats;
  stats.allocated_bytes[kAll] = to_torch(pools().allocated());
  stats.reserved_bytes[kAll] = to_torch(pools().reserved());
  return stats;
}

void reset_peak() {
  const Lock lock(g_shared.lock);
  for (auto* stat : {&pools().allocated(), &pools().reserved()}) stat->peak = stat->current;
}

void reset_accumulated() {
  const Lock lock(g_shared.lock);
  for (auto* stat : {&pools().allocated(), &pools().reserved()}) {
    stat->allocated = 0;
    stat->freed = 0;
  }
}

}  // namespace openmps::memory
