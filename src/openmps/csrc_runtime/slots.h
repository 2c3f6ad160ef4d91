// Places for memory that kernels see. Each is mapped far from everything else in the process, with
// nothing between: an index that goes astray meets no other memory, and faults. The first places
// lie furthest apart: of a few hundred, none is within reach of a 32-bit index into another.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <atomic>

namespace openmps {

// The core and the runtime are two libraries: each has a part of the address space, above programs
// that are linked to an address, and below those that Linux places.
constexpr uintptr_t kTensorPlaces = uintptr_t{0x1000} << 32;
constexpr uintptr_t kRuntimePlaces = uintptr_t{0x3000} << 32;

class Slots {
 public:
  static constexpr unsigned kCountBits = 13;
  static constexpr unsigned kCount = 1u << kCountBits;
  static constexpr unsigned kPitchBits = 32;
  // What one place holds at most: a gap stays before the next.
  static constexpr size_t kMostBytes = size_t{3} << 30;

  constexpr explicit Slots(uintptr_t base) : base_(base) {}

  // Null: no place, no memory, or an address space that is too small (some arm64 machines).
  char* map(size_t bytes, int protection, int more_flags = 0) {
    if (bytes == 0 || bytes > kMostBytes) return nullptr;
    for (int tries = 0; tries < 4; ++tries) {
      const unsigned number = take();
      if (number == kCount) return nullptr;
      void* wanted = reinterpret_cast<void*>(address_of(number));
      void* got = mmap(wanted, bytes, protection,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | more_flags, -1, 0);
      if (got == wanted) return static_cast<char*>(got);
      if (got == MAP_FAILED && errno == EEXIST) continue;  // somebody else's for good
      if (got != MAP_FAILED) munmap(got, bytes);  // Linux before 4.17 takes the address as a hint
      give_back(number);
      return nullptr;
    }
    return nullptr;
  }

  void unmap(void* place, size_t bytes) {
    munmap(place, bytes);
    give_back(number_of(place));
  }

  bool has(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - base_ < uintptr_t{kCount} << kPitchBits;
  }
  char* place(unsigned number) const { return reinterpret_cast<char*>(address_of(number)); }
  // Of the place that `address` is in.
  unsigned number_of(const void* address) const {
    return reversed(
        static_cast<unsigned>((reinterpret_cast<uintptr_t>(address) - base_) >> kPitchBits));
  }

 private:
  static unsigned reversed(unsigned number) {
    unsigned result = 0;
    for (unsigned bit = 0; bit < kCountBits; ++bit) {
      result |= (number >> bit & 1) << (kCountBits - 1 - bit);
    }
    return result;
  }
  uintptr_t address_of(unsigned number) const {
    return base_ + (uintptr_t{reversed(number)} << kPitchBits);
  }
  void lock() {
    while (lock_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() { lock_.clear(std::memory_order_release); }
  unsigned take() {
    lock();
    const unsigned number = freed_ > 0 ? free_[--freed_] : next_ < kCount ? next_++ : kCount;
    unlock();
    return number;
  }
  void give_back(unsigned number) {
    lock();
    free_[freed_++] = static_cast<uint16_t>(number);
    unlock();
  }

  const uintptr_t base_;
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  unsigned next_ = 0;   // never used before
  unsigned freed_ = 0;  // in free_
  uint16_t free_[kCount] = {};
};

}  // namespace openmps
