#include "memory/pools.h"

#include <c10/util/Exception.h>

#include <iomanip>
#include <sstream>

namespace openmps {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSmallHeap = 8 * kMiB;   // for buffers of the small pool
constexpr size_t kLargeHeap = 32 * kMiB;  // for buffers below kLargeHeapEnd
constexpr size_t kLargeHeapEnd = 10 * kMiB;
constexpr size_t kHugeHeap = 1024 * kMiB;  // for buffers below half of it
constexpr size_t kOwnHeapGrain = 2 * kMiB;
constexpr size_t kMostWaste = kLargeHeap;  // a free buffer this much too large is still reused
constexpr double kHighestRatio = 2.0;

template <class... Parts>
std::string line(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace

std::string readable(size_t bytes) {
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

void Pools::log(uint32_t kind, const std::string& line) const {
  if (logs(kind)) settings_.log(line);
}

// --- limits

namespace {

constexpr size_t kUnlimited = SIZE_MAX;

std::string limit_text(size_t limit) { return limit == kUnlimited ? "unlimited" : readable(limit); }

}  // namespace

size_t Pools::limit_at(double ratio) const {
  if (ratio == 0.0) return kUnlimited;
  return static_cast<size_t>(ratio * static_cast<double>(settings_.recommended));
}

void Pools::set_high_watermark(double ratio) {
  TORCH_CHECK(ratio >= 0.0 && ratio <= kHighestRatio, "invalid high watermark ratio ", ratio);
  high_ratio_ = ratio;
  high_limit_ = limit_at(ratio);
  log(verbosity::kProfiling,
      line("High watermark memory allocation limit: ", limit_text(high_limit_)));
}

void Pools::set_low_watermark(double ratio) {
  const auto highest = high_ratio_ == 0.0 ? kHighestRatio : high_ratio_;
  TORCH_CHECK(ratio >= 0.0 && ratio <= highest, "invalid low watermark ratio ", ratio);
  low_ratio_ = ratio;
  low_limit_ = limit_at(ratio);
  log(verbosity::kProfiling,
      line("Low watermark memory allocation limit: ", limit_text(low_limit_)));
}

// A Mac counts the distance in whole MiB.
bool Pools::low_watermark_reached() const {
  return low_ratio_ != 0.0 && driver_bytes() + kMiB > low_limit_;
}

std::string Pools::shortage(size_t size, const std::string& limit) const {
  return line("MPS backend out of memory (MPS allocated: ", readable(driver_bytes()),
              ", other allocations: ", readable(0), limit, "). Tried to allocate ", readable(size),
              " on shared pool.");
}

// --- taking and giving back

Buffer* Pools::search(size_t bytes) {
  TORCH_CHECK(bytes < settings_.max_buffer, "Invalid buffer size: ", readable(bytes));
  const auto size = rounded(bytes);
  auto& pool = pools_[size <= kLargestSmall ? 0 : 1];
  Request request{size, bytes, pool, !pool.small && low_watermark_reached()};
  if (find_free(request)) return request.buffer;
  if (request.pressure && size < pool.free_bytes) collect_garbage(request);
  // The second search is where a Mac has asked others to free memory.
  if (!create(request) && !find_free(request) && !(make_room(request) && create(request))) {
    release_cached();
    if (!create(request)) {
      TORCH_CHECK(false, shortage(size, ", max allowed: " + readable(high_limit_)),
                  " Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory "
                  "allocations (may cause system failure).");
    }
  }
  return request.buffer;
}

bool Pools::find_free(Request& request) {
  // Asked even though nothing is taken: Metal's own allocations may have grown meanwhile.
  if (exceeds_high_watermark(request.size)) return false;
  auto& pool = request.pool;
  if (!pool.small && low_ratio_ > 0.0) ++pool.clock;
  auto* buffer = choose_free(request);
  if (buffer == nullptr) return false;
  reuse(pool, buffer, request.requested);
  request.buffer = buffer;
  if (logs(verbosity::kRecycles, pool)) {
    settings_.log(line("Reusing shared buffer #", buffer->id, " of size ", readable(buffer->size),
                       " at ", static_cast<const void*>(buffer), " (requested: ",
                       readable(request.requested), ", use#: ", buffer->uses, ", retain#: 1)"));
  }
  return true;
}

Buffer* Pools::choose_free(Request& request) {
  auto* buffer = request.pool.free.smallest_of_at_least(request.size);
  if (buffer == nullptr || buffer->size <= request.size + kMostWaste) return buffer;
  // Far too large. Rather cut the new buffer from a heap with room; if there is none, from the heap
  // of this one.
  Heap key{};
  key.available = request.size;
  if (request.pool.heaps.lower_bound(&key) == request.pool.heaps.end()) {
    release(buffer, /*with_empty_heap=*/false);
    request.pressure = false;  // there is room now
  }
  return nullptr;
}

bool Pools::create(Request& request) {
  if (exceeds_high_watermark(request.size)) return false;
  auto& pool = request.pool;
  auto* heap = heap_for(request);
  heap->available -= request.size;
  ++heap->buffers;
  pool.heaps.insert(heap);
  auto* buffer = new Buffer{request.size, request.requested, heap, ++last_buffer_};
  pool.bytes += buffer->size;
  ++pool.buffers;
  enter(buffer);
  request.buffer = buffer;
  if (logs(verbosity::kAllocations, pool)) {
    settings_.log(line("Allocated shared buffer #", buffer->id, " of size ", readable(buffer->size),
                       " at ", static_cast<const void*>(buffer), " from heap #", heap->id,
                       " (requested: ", readable(request.requested), ", heap: ",
                       readable(heap->available), ", total: ", readable(driver_bytes()), ")"));
  }
  return true;
}

// The heap with least room that has enough, taken out of its pool's set; or a new one.
Heap* Pools::heap_for(const Request& request) {
  auto& heaps = request.pool.heaps;
  Heap key{};
  key.available = request.size;
  const auto found = heaps.lower_bound(&key);
  if (found == heaps.end()) return new_heap(request);
  auto* heap = *found;
  heaps.erase(found);
  return heap;
}

Heap* Pools::new_heap(const Request& request) {
  size_t size = (request.size + kOwnHeapGrain - 1) / kOwnHeapGrain * kOwnHeapGrain;
  bool split = true;
  if (request.pool.small) {
    size = kSmallHeap;
  } else if (request.size < kLargeHeapEnd) {
    size = kLargeHeap;
  } else if (request.size < kHugeHeap / 2 && !request.pressure) {
    size = kHugeHeap;
  } else {
    split = false;
  }
  auto* heap = new Heap{size, size, &request.pool, ++last_heap_, split};
  reserved_.increase(size);
  log(verbosity::kAllocations, line("Allocated shared heap #", heap->id, " of size ",
                                    readable(size), " (#heaps: ", request.pool.heaps.size() + 1,
                                    ", current allocated: ", readable(driver_bytes()), ")"));
  return heap;
}

// --- giving up buffers

void Pools::release(Buffer* buffer, bool with_empty_heap) {
  auto* heap = buffer->heap;
  auto& pool = *heap->pool;
  pool.bytes -= buffer->size;
  pool.free_bytes -= buffer->size;
  --pool.buffers;
  pool.free.erase(buffer);
  pool.heaps.erase(heap);
  heap->available += buffer->size;
  --heap->buffers;
  if (logs(verbosity::kReleases, pool)) {
    settings_.log(line("Released buffer #", buffer->id, " of size ", readable(buffer->size),
                       " from heap #", heap->id, " (heap size: ", readable(heap->available),
                       ", use#: ", buffer->uses,
                       ", retain#: 1, gc#: ", pool.clock - buffer->freed_at, ")"));
  }
  delete buffer;
  if (with_empty_heap && heap->buffers == 0) {
    release_heap(heap);
  } else {
    pool.heaps.insert(heap);
  }
}

void Pools::release_heap(Heap* heap) {
  reserved_.decrease(heap->total);
  log(verbosity::kReleases,
      line("Released heap #", heap->id, " of size ", readable(heap->total),
           " (current allocated: ", readable(driver_bytes()), ", retain#: 1)"));
  delete heap;
}

void Pools::release_all(Pool& pool) {
  if (pool.free.empty()) return;
  log(verbosity::kReleases,
      line("Releasing ", pool.free.count(), " buffers from ", pool.name(),
           " shared pool (total size: ", readable(pool.bytes), ", #buffers: ", pool.buffers, ")"));
  while (auto* buffer = pool.free.smallest_of_at_least(0)) {
    release(buffer, /*with_empty_heap=*/true);
  }
}

void Pools::release_cached() {
  if (settings_.verbosity != 0) {
    settings_.log(line("Attempting to release cached buffers (MPS allocated: ",
                       readable(driver_bytes()), ", other allocations: ", readable(0), ")"));
  }
  for (auto& pool : pools_) release_all(pool);
}

// Gives up one free buffer that would do, or as many of the largest as would do together.
bool Pools::make_room(const Request& request) {
  auto& free = request.pool.free;
  if (auto* buffer = free.smallest_of_at_least(request.size)) {
    release(buffer, /*with_empty_heap=*/true);
    return true;
  }
  size_t released = 0;
  while (released < request.size) {
    auto* largest = free.largest();
    if (largest == nullptr) return false;
    released += largest->size;
    release(largest, /*with_empty_heap=*/true);
  }
  return true;
}

void Pools::collect_garbage(const Request& request) {
  if (driver_bytes() < low_limit_) return;
  auto& pool = request.pool;
  const auto target = driver_bytes() - low_limit_;
  double total_age = 0;
  for (auto* b = pool.free.smallest_of_at_least(0); b != nullptr; b = pool.free.after(b)) {
    total_age += static_cast<double>(pool.clock - b->freed_at);
  }
  const auto before = pool.free.count();
  size_t reclaimed = 0;
  while (reclaimed < target && !pool.free.empty()) {
    const auto average = total_age / static_cast<double>(pool.free.count());
    const auto freed = collect_older_than(pool, average, target - reclaimed, &total_age);
    if (freed == 0) break;
    reclaimed += freed;
  }
  log(verbosity::kReleases, line("Garbage collected ", before - pool.free.count(),
                                 " buffers from large shared pool (total reclaimed: ",
                                 readable(reclaimed), ", #buffers: ", pool.free.count(), ")"));
}

// Bytes given up, from the smallest buffer on, until `target`.
size_t Pools::collect_older_than(Pool& pool, double age, size_t target, double* total_age) {
  size_t reclaimed = 0;
  auto* next = pool.free.smallest_of_at_least(0);
  while (next != nullptr && reclaimed < target) {
    auto* buffer = next;
    next = pool.free.after(buffer);
    const auto its_age = static_cast<double>(pool.clock - buffer->freed_at);
    if (its_age < age) continue;
    reclaimed += buffer->size;
    *total_age -= its_age;
    release(buffer, /*with_empty_heap=*/!buffer->heap->split);
  }
  return reclaimed;
}

}  // namespace openmps
