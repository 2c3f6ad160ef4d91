#include "free_buffers.h"

namespace openmps {

void FreeBuffers::insert(Buffer* buffer) {
  ++count_;
  if (buffer->size > kLargestSmall) {
    large_.insert(buffer);
    return;
  }
  const auto index = class_of(buffer->size);
  auto& first = small_[index];
  buffer->previous_free = nullptr;
  buffer->next_free = first;
  if (first != nullptr) first->previous_free = buffer;
  first = buffer;
  occupied_[index / kBits] |= uint64_t{1} << (index % kBits);
}

void FreeBuffers::erase(Buffer* buffer) {
  --count_;
  if (buffer->size > kLargestSmall) {
    large_.erase(buffer);
    return;
  }
  const auto index = class_of(buffer->size);
  if (buffer->next_free != nullptr) buffer->next_free->previous_free = buffer->previous_free;
  if (buffer->previous_free != nullptr) {
    buffer->previous_free->next_free = buffer->next_free;
    return;
  }
  small_[index] = buffer->next_free;
  if (small_[index] == nullptr) occupied_[index / kBits] &= ~(uint64_t{1} << (index % kBits));
}

Buffer* FreeBuffers::smallest_of_at_least(size_t size) const {
  if (size > kLargestSmall) return first_large(size, 0);
  auto* small = first_of_class(class_of(size));
  return small != nullptr ? small : first_large(0, 0);
}

Buffer* FreeBuffers::largest() const {
  if (!large_.empty()) return *large_.rbegin();
  for (size_t word = occupied_.size(); word-- > 0;) {
    if (occupied_[word] == 0) continue;
    return small_[word * kBits +
                  (kBits - 1 - static_cast<size_t>(__builtin_clzll(occupied_[word])))];
  }
  return nullptr;
}

Buffer* FreeBuffers::after(const Buffer* buffer) const {
  if (buffer->size > kLargestSmall) return first_large(buffer->size, buffer->id + 1);
  if (buffer->next_free != nullptr) return buffer->next_free;
  auto* small = first_of_class(class_of(buffer->size) + 1);
  return small != nullptr ? small : first_large(0, 0);
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

Buffer* FreeBuffers::first_large(size_t at_least, uint64_t id) const {
  Buffer key{};
  key.size = at_least;
  key.id = id;
  const auto found = large_.lower_bound(&key);
  return found == large_.end() ? nullptr : *found;
}

}  // namespace openmps
