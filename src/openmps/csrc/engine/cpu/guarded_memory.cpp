#include "engine/cpu/guarded_memory.h"

#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>

#include "csrc_runtime/slots.h"
#include "tensor/allocation_tracker.h"
#include "memory/spin_lock.h"
#include "tensor/twin.h"

namespace openmps::guarded_memory {
namespace {

constexpr size_t kPage = 4096;
// Sizes are rounded up to an eighth of a power of two, so that a freed buffer serves the next one.
constexpr unsigned kSteps = 8;
constexpr unsigned kClasses = 33 * kSteps;
// How many classes above its own a buffer may come from: half as large again.
constexpr unsigned kNear = 4;
// What may stay mapped beside a quarter of the most that was ever used.
constexpr size_t kSpare = size_t{64} << 20;

Slots g_slots(kTensorPlaces);

unsigned class_of(size_t bytes) {
  const auto pages = (bytes + kPage - 1) / kPage;
  if (pages <= kSteps) return static_cast<unsigned>(pages);
  const auto power = static_cast<unsigned>(std::bit_width(pages - 1)) - 4;  // of a step, in pages
  const auto steps = (pages + (size_t{1} << power) - 1) >> power;           // 9 to 16
  return kSteps * power + static_cast<unsigned>(steps);
}

size_t bytes_of(unsigned size_class) {
  if (size_class <= kSteps) return size_class * kPage;
  const auto power = (size_class - 1) / kSteps - 1;
  return ((size_class - kSteps * power) << power) * kPage;
}

// Buffers at the same place of a page fight for the same lines of a cache.
size_t offset_of(unsigned number) { return number % 32 * 576 % kPage / 64 * 64; }

// Freed places that are still mapped, in a list for each class.
class Unused {
 public:
  // kNone if there is none of that size, or near it.
  unsigned find(unsigned size_class) {
    const std::lock_guard<SpinLock> guard(lock_);
    const auto last = std::min(size_class + kNear, kClasses - 1);
    for (auto here = size_class; here <= last; ++here) {
      if (first_[here] == kNone) continue;
      const auto number = pop(here);
      count_used(bytes_of(here));
      return number;
    }
    return kNone;
  }

  void add_mapped(unsigned number, unsigned size_class) {
    const std::lock_guard<SpinLock> guard(lock_);
    class_[number] = static_cast<uint16_t>(size_class);
    count_used(bytes_of(size_class));
  }

  void put(unsigned number) {
    size_t excess = 0;
    {
      const std::lock_guard<SpinLock> guard(lock_);
      const auto bytes = bytes_of(class_[number]);
      next_[number] = first_[class_[number]];
      first_[class_[number]] = static_cast<uint16_t>(number);
      used_ -= bytes;
      unused_ += bytes;
      const auto allowed = most_used_ + most_used_ / 4 + kSpare;
      if (used_ + unused_ > allowed) excess = used_ + unused_ - allowed;
    }
    if (excess > 0) release(excess);
  }

  // Unmaps at least so many bytes, from the class that holds most.
  void release(size_t wanted) {
    size_t released = 0;
    while (released < wanted) {
      unsigned number = kNone;
      size_t bytes = 0;
      {
        const std::lock_guard<SpinLock> guard(lock_);
        const auto size_class = largest();
        if (size_class == 0) return;
        number = pop(size_class);
        bytes = bytes_of(class_[number]);
      }
      g_slots.unmap(g_slots.place(number), bytes);
      released += bytes;
    }
  }

  void forget_most_used() {
    const std::lock_guard<SpinLock> guard(lock_);
    most_used_ = used_;
  }

  size_t mapped_bytes(unsigned number) const { return bytes_of(class_[number]); }

  static constexpr unsigned kNone = UINT16_MAX;

 private:
  unsigned pop(unsigned size_class) {
    const auto number = first_[size_class];
    first_[size_class] = next_[number];
    unused_ -= bytes_of(size_class);
    return number;
  }
  void count_used(size_t bytes) {
    used_ += bytes;
    most_used_ = std::max(most_used_, used_);
  }
  unsigned largest() const {
    for (auto size_class = kClasses; --size_class > 0;) {
      if (first_[size_class] != kNone) return size_class;
    }
    return 0;
  }

  SpinLock lock_;
  std::array<uint16_t, kClasses> first_ = filled();
  std::array<uint16_t, Slots::kCount> next_{};
  std::array<uint16_t, Slots::kCount> class_{};
  size_t used_ = 0;
  size_t most_used_ = 0;
  size_t unused_ = 0;

  static constexpr std::array<uint16_t, kClasses> filled() {
    std::array<uint16_t, kClasses> result{};
    result.fill(kNone);
    return result;
  }
};

Unused g_unused;

void give_back(void* place) { g_unused.put(g_slots.number_of(place)); }

// The old bytes stay: an operator of another thread may be at work on them.
struct Moved {
  c10::DataPtr before;
  c10::DataPtr now;
};

void delete_moved(void* moved) { delete static_cast<Moved*>(moved); }

}  // namespace

c10::DataPtr take(size_t bytes) {
  const c10::Device cpu(c10::kCPU);
  // A quarter of a page more than asked for is what the offset may take.
  if (bytes == 0 || bytes > Slots::kMostBytes - kPage) return {nullptr, cpu};
  const auto size_class = class_of(bytes + kPage);
  auto number = g_unused.find(size_class);
  if (number == Unused::kNone) {
    auto* mapped = g_slots.map(bytes_of(size_class), PROT_READ | PROT_WRITE);
    if (mapped == nullptr) {
      release_unused();
      mapped = g_slots.map(bytes_of(size_class), PROT_READ | PROT_WRITE);
    }
    if (mapped == nullptr) return {nullptr, cpu};
    number = g_slots.number_of(mapped);
    g_unused.add_mapped(number, size_class);
  }
  auto* place = g_slots.place(number) + offset_of(number);
  return {place, place, &give_back, cpu};
}

bool move(const c10::Storage& mps) {
  auto& impl = *mps.unsafeGetStorageImpl();
  auto* twin = twin_of(impl);
  if (twin == nullptr || twin->nbytes() == 0 || g_slots.has(twin->data())) return false;
  if (c10::raw::intrusive_ptr::use_count(twin) > 1) return false;
  auto now = take(twin->nbytes());
  if (!now) return false;
  auto* address = now.get();
  std::memcpy(address, twin->data(), twin->nbytes());
  auto moved = std::make_unique<Moved>(Moved{{}, std::move(now)});
  auto* behind = moved.get();
  behind->before =
      replace_bytes(*twin, {address, moved.release(), &delete_moved, c10::Device(c10::kCPU)});
  follow_twin(impl);
  return true;
}

void release_unused() {
  g_unused.release(SIZE_MAX);
  g_unused.forget_most_used();
}

}  // namespace openmps::guarded_memory
