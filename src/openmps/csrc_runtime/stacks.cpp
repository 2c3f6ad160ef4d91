#include "stacks.h"

#include <sys/mman.h>

#include <initializer_list>

#include "isolated.h"

namespace openmps {

namespace {

// Above what a kernel's own functions take: a stack's colour, and what they call of the runtime and
// of the maths library.
constexpr size_t kBeside = 32 << 10;
constexpr size_t kGranule = 64 << 10;  // no page is larger

}  // namespace

Stacks::~Stacks() { release(); }

void Stacks::release() {
  if (base_) unmap_isolated(base_, reserved_ * stride_);
  base_ = nullptr;
  reserved_ = ready_ = 0;
}

// Address space for all that may ever be needed; under a limit (ulimit -v), for `count`.
bool Stacks::reserve(unsigned count) {
  for (const unsigned stacks : {most_, count}) {
    base_ = map_isolated(stacks * stride_, /*closed=*/true);
    if (!base_) continue;
    reserved_ = stacks;
    return true;
  }
  return false;
}

Stacks::Provided Stacks::provide(unsigned count, size_t bytes) {
  if (count > most_) return kNoMemory;
  Provided provided = kAsBefore;
  const size_t wanted = (bytes + kBeside + guard_ + kGranule - 1) / kGranule * kGranule;
  if (wanted > stride_ || (base_ && count > reserved_)) {
    release();
    if (wanted > stride_) stride_ = wanted;
    provided = kMoved;
  }
  if (!base_ && !reserve(count)) return kNoMemory;
  for (; ready_ < count; ++ready_) {
    char* low = base_ + ready_ * stride_ + guard_;
    if (mprotect(low, stride_ - guard_, PROT_READ | PROT_WRITE) != 0) return kNoMemory;
  }
  return provided;
}

char* Stacks::top(unsigned index) const {
  // Stacks whose tops share their low address bits would fight for the same few cache lines.
  const size_t colour = (index % 32) * 576 % 4096;
  return base_ + (index + 1) * stride_ - 64 - colour;
}

bool Stacks::is_guard(uintptr_t address) const {
  const uintptr_t base = reinterpret_cast<uintptr_t>(base_);
  if (!base_ || address < base || address >= base + reserved_ * stride_) return false;
  const uintptr_t offset = address - base;
  return offset / stride_ >= ready_ || offset % stride_ < guard_;
}

}  // namespace openmps
