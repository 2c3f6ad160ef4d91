#include "stacks.h"

#include <sys/mman.h>

namespace openmps {

Stacks::~Stacks() {
  if (base_) munmap(base_, most_ * stride_);
}

bool Stacks::provide(unsigned count) {
  if (count > most_) return false;
  if (!base_) {
    void* memory = mmap(nullptr, most_ * stride_, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    base_ = static_cast<char*>(memory);
  }
  for (; ready_ < count; ++ready_) {
    char* low = base_ + ready_ * stride_ + guard_;
    if (mprotect(low, stride_ - guard_, PROT_READ | PROT_WRITE) != 0) return false;
  }
  return true;
}

char* Stacks::top(unsigned index) const {
  // Stacks whose tops share their low address bits would fight for the same few cache lines.
  const size_t colour = (index % 32) * 576 % 4096;
  return base_ + (index + 1) * stride_ - 64 - colour;
}

bool Stacks::is_guard(uintptr_t address) const {
  const uintptr_t base = reinterpret_cast<uintptr_t>(base_);
  if (!base_ || address < base || address >= base + most_ * stride_) return false;
  const uintptr_t offset = address - base;
  return offset / stride_ >= ready_ || offset % stride_ < guard_;
}

}  // namespace openmps
