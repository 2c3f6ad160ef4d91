// The free buffers of one pool, in order of size. A program's sizes are few and come and go with
// every operator, so each has a list of its own: small ones are found through a bit map, large ones
// in a sorted row of those that there are. Nothing here takes memory for a buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace openmps {

struct Heap;

// A piece of a heap: what a Mac calls an MTLBuffer.
struct Buffer {
  size_t size;       // after rounding
  size_t requested;  // what the program asked for
  Heap* heap;
  uint64_t id;
  uint64_t uses = 0;
  uint64_t freed_at = 0;  // on its pool's clock; how often it was passed over is its age

  // For whoever put bytes behind it: how to free them. The pools do not look.
  void* context = nullptr;
  void (*release)(void*) = nullptr;
  uint32_t line = 0;  // of the program that took it, for the ledger

  Buffer* next_free = nullptr;
  Buffer* previous_free = nullptr;
};

constexpr size_t kFineGrain = 256;                 // sizes up to a page are multiples of this
constexpr size_t kPage = size_t{16} << 10;         // Apple silicon; above, sizes are whole pages
constexpr size_t kLargestSmall = size_t{1} << 20;  // above, a buffer belongs to the large pool

class FreeBuffers {
 public:
  void insert(Buffer* buffer) {
    if (buffer->size > kLargestSmall) return insert_large(buffer);
    ++count_;
    const auto index = class_of(buffer->size);
    link(buffer, small_[index]);
    occupied_[index / kBits] |= uint64_t{1} << (index % kBits);
  }
  void erase(Buffer* buffer) {
    if (buffer->size > kLargestSmall) return erase_large(buffer);
    --count_;
    const auto index = class_of(buffer->size);
    unlink(buffer, small_[index]);
    if (small_[index] == nullptr) occupied_[index / kBits] &= ~(uint64_t{1} << (index % kBits));
  }

  // What most operators find: a small one of exactly this size. Or nullptr.
  Buffer* small_of(size_t size) const { return small_[class_of(size)]; }

  Buffer* smallest_of_at_least(size_t size) const;  // or nullptr
  Buffer* largest() const;                          // or nullptr
  Buffer* after(const Buffer* buffer) const;        // the next larger one, or nullptr

  size_t count() const { return count_; }
  bool empty() const { return count_ == 0; }

 private:
  static constexpr size_t kClasses = kPage / kFineGrain + kLargestSmall / kPage;  // 0 is unused
  static constexpr size_t kBits = 64;

  struct LargeSize {
    size_t size;
    Buffer* first;  // never nullptr: a size without free buffers is not there
  };

  static size_t class_of(size_t size) {
    return size <= kPage ? size / kFineGrain : kPage / kFineGrain + size / kPage - 1;
  }
  static void link(Buffer* buffer, Buffer*& first) {
    buffer->previous_free = nullptr;
    buffer->next_free = first;
    if (first != nullptr) first->previous_free = buffer;
    first = buffer;
  }
  static void unlink(Buffer* buffer, Buffer*& first) {
    if (buffer->next_free != nullptr) buffer->next_free->previous_free = buffer->previous_free;
    if (buffer->previous_free != nullptr) {
      buffer->previous_free->next_free = buffer->next_free;
    } else {
      first = buffer->next_free;
    }
  }
  void insert_large(Buffer* buffer);
  void erase_large(Buffer* buffer);
  size_t place_of_large(size_t at_least) const;
  Buffer* first_of_class(size_t at_least) const;
  Buffer* first_large(size_t at_least) const;

  std::array<Buffer*, kClasses> small_{};
  std::array<uint64_t, kClasses / kBits> occupied_{};
  std::vector<LargeSize> large_;
  size_t count_ = 0;

  static_assert(kClasses % kBits == 0);
};

}  // namespace openmps
