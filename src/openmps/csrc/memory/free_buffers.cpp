#include "memory/free_buffers.h"

#include <algorithm>

namespace openmps {

void FreeBuffers::insert_large(Buffer* buffer) {
  ++count_;
  const auto place = place_of_large(buffer->size);
  if (place == large_.size() || large_[place].size != buffer->size) {
    large_.insert(large_.begin() + static_cast<std::ptrdiff_t>(place), {buffer->size, nullptr});
  }
  link(buffer, large_[place].first);
}

void FreeBuffers::erase_large(Buffer* buffer) {
  --count_;
  const auto place = place_of_large(buffer->size);
  unlink(buffer, large_[place].first);
  if (large_[place].first == nullptr) {
    large_.erase(large_.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

Buffer* FreeBuffers::smallest_of_at_least(size_t size) const {
  if (size > kLargestSmall) return first_large(size);
  auto* small = first_of_class(class_of(size));
  return small != nullptr ? small : first_large(0);
}

Buffer* FreeBuffers::largest() const {
  if (!large_.empty()) return large_.back().first;
  for (size_t word = occupied_.size(); word-- > 0;) {
    if (occupied_[word] == 0) continue;
    return small_[word * kBits +
                  (kBits - 1 - static_cast<size_t>(__builtin_clzll(occupied_[word])))];
  }
  return nullptr;
}

Buffer* FreeBuffers::after(const Buffer* buffer) const {
  if (buffer->next_free != nullptr) return buffer->next_free;
  if (buffer->size > kLargestSmall) return first_large(buffer->size + 1);
  auto* small = first_of_class(class_of(buffer->size) + 1);
  return small != nullptr ? small : first_large(0);
}

Buffer* FreeBuffers::first_of_class(size_t at_least) const {
  auto word = at_least / kBits;
  if (word >= occupied_.size()) return nullptr;
  auto bits = occupied_[word] & (~uint64_t{0} << (at_least % kBits));
  while (bits == 0) {
    if (++word == occupied_.size()) return nullptr;
    bits = occupied_[word];
  }
  return small_[word * kBits + static_cast<size_t>(__builtin_ctzll(bits))];
}

size_t FreeBuffers::place_of_large(size_t at_least) const {
  const auto found =
      std::lower_bound(large_.begin(), large_.end(), at_least,
                       [](const LargeSize& large, size_t size) { return large.size < size; });
  return static_cast<size_t>(found - large_.begin());
}

Buffer* FreeBuffers::first_large(size_t at_least) const {
  const auto place = place_of_large(at_least);
  return place == large_.size() ? nullptr : large_[place].first;
}

}  // namespace openmps
