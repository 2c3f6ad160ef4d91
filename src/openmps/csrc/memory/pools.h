// A Mac's mps allocator as a model: which heaps it would have taken from Metal, which buffers it
// would have cut from them, and when it would have given up. Book-keeping only: no bytes live here,
// and no lock. The rules are those of ATen/mps/MPSAllocator, with two exceptions that Metal decides
// and does not publish:
//  - a buffer's size is rounded up to 256 bytes, and to 16 KiB pages above one page;
//  - a heap has room for a buffer if its free bytes suffice, wherever they lie.
// A Mac has a third pool, for numbers that operators take as buffers of 8 bytes. Here numbers are
// arguments of kernels, and there is none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "memory/free_buffers.h"

namespace openmps {

// PYTORCH_DEBUG_MPS_ALLOCATOR's bits.
namespace verbosity {
constexpr uint32_t kProfiling = 1;
constexpr uint32_t kAllocations = 2;
constexpr uint32_t kRecycles = 4;
constexpr uint32_t kReleases = 8;
constexpr uint32_t kLargeOnly = 16;
}  // namespace verbosity

struct Stat {
  int64_t current = 0;
  int64_t peak = 0;
  int64_t allocated = 0;
  int64_t freed = 0;

  void increase(size_t bytes) {
    current += static_cast<int64_t>(bytes);
    allocated += static_cast<int64_t>(bytes);
    if (current > peak) peak = current;
  }
  void decrease(size_t bytes) {
    current -= static_cast<int64_t>(bytes);
    freed += static_cast<int64_t>(bytes);
  }
};

struct Pool;

struct Heap {
  size_t total;
  size_t available;
  Pool* pool;
  uint64_t id;
  bool split;  // made for several buffers
  size_t buffers = 0;
};

struct Pool {
  bool small;
  FreeBuffers free{};
  size_t free_bytes = 0;
  size_t bytes = 0;    // of all buffers, free or not
  size_t buffers = 0;  // free or not
  uint64_t clock = 0;  // one tick for each search among free buffers

  struct ByRoom {
    bool operator()(const Heap* a, const Heap* b) const {
      return a->available != b->available ? a->available < b->available : a->id < b->id;
    }
  };
  std::set<Heap*, ByRoom> heaps{};

  const char* name() const { return small ? "small" : "large"; }
};

// The size of the buffer that `bytes` need.
constexpr size_t rounded(size_t bytes) {
  const size_t grain = bytes <= kPage ? kFineGrain : kPage;  // powers of two: no division
  return (bytes + grain - 1) & ~(grain - 1);
}

class Pools {
 public:
  struct Settings {
    size_t recommended;  // bytes that Metal recommends using
    size_t max_buffer;   // no buffer reaches this size
    uint32_t verbosity;
    void (*log)(const std::string& line);
  };

  explicit Pools(const Settings& settings) : settings_(settings) {}
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;

  // A buffer of at least `bytes`. Throws a Mac's error if there is no room; nothing has changed
  // then, but that cached buffers are gone.
  Buffer* take(size_t bytes) {
    const auto size = rounded(bytes);
    if (size > kLargestSmall || bytes >= settings_.max_buffer || exceeds_high_watermark(size) ||
        settings_.verbosity != 0) {
      return search(bytes);
    }
    auto& pool = pools_[0];
    auto* buffer = pool.free.small_of(size);
    if (buffer == nullptr) return search(bytes);
    reuse(pool, buffer, bytes);
    return buffer;
  }
  void give_back(Buffer* buffer) {
    auto& pool = *buffer->heap->pool;
    buffer->freed_at = pool.clock;
    pool.free.insert(buffer);
    pool.free_bytes += buffer->size;
    allocated_.decrease(buffer->size);
  }

  // empty_cache: gives up every free buffer, and every heap that this empties.
  void release_cached();

  // Multiples of the recommended bytes; 0 lifts the limit. Throw if out of range.
  size_t high_limit() const { return high_limit_; }  // SIZE_MAX: none
  void set_high_watermark(double ratio);
  void set_low_watermark(double ratio);

  // What Metal would say is allocated: all heaps, however empty.
  size_t driver_bytes() const { return static_cast<size_t>(reserved_.current); }
  // "MPS backend out of memory (...", as far as it says what there is and what was wanted.
  std::string shortage(size_t size, const std::string& limit) const;
  void log(uint32_t kind, const std::string& line) const;

  Stat& allocated() { return allocated_; }
  Stat& reserved() { return reserved_; }

 private:
  struct Request {
    size_t size;
    size_t requested;
    Pool& pool;
    bool pressure;
    Buffer* buffer = nullptr;
  };

  bool exceeds_high_watermark(size_t size) const { return driver_bytes() + size > high_limit_; }
  size_t limit_at(double ratio) const;
  bool low_watermark_reached() const;

  // Any request, in all the ways that a Mac has.
  Buffer* search(size_t bytes);
  bool find_free(Request& request);
  void reuse(Pool& pool, Buffer* buffer, size_t requested) {
    pool.free.erase(buffer);
    pool.free_bytes -= buffer->size;
    buffer->requested = requested;
    enter(buffer);
  }
  void enter(Buffer* buffer) {
    ++buffer->uses;
    allocated_.increase(buffer->size);
  }
  Buffer* choose_free(Request& request);
  bool create(Request& request);
  bool make_room(const Request& request);
  Heap* heap_for(const Request& request);
  Heap* new_heap(const Request& request);
  void collect_garbage(const Request& request);
  size_t collect_older_than(Pool& pool, double age, size_t target, double* total_age);
  void release(Buffer* buffer, bool with_empty_heap);
  void release_heap(Heap* heap);
  void release_all(Pool& pool);

  // Whether `kind` is to be logged for `pool`.
  bool logs(uint32_t kind, const Pool& pool) const {
    return logs(kind) && !((settings_.verbosity & verbosity::kLargeOnly) != 0 && pool.small);
  }
  bool logs(uint32_t kind) const { return (settings_.verbosity & kind) != 0; }

  Settings settings_;
  size_t high_limit_ = SIZE_MAX;
  size_t low_limit_ = SIZE_MAX;
  Stat allocated_;  // buffers in use
  Stat reserved_;   // heaps
  double high_ratio_ = 0;
  double low_ratio_ = 0;
  uint64_t last_buffer_ = 0;
  uint64_t last_heap_ = 0;
  std::array<Pool, 2> pools_{Pool{/*small=*/true}, Pool{/*small=*/false}};
};

// As PyTorch's allocators print sizes: "512 bytes", "1.50 KiB", "2.00 GiB".
std::string readable(size_t bytes);

}  // namespace openmps
