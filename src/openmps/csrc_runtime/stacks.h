// The fibre stacks of one OS thread: address space is reserved once, memory comes when touched.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace openmps {

class Stacks {
 public:
  // Room for `most` stacks of `stride` bytes, of which `guard` bytes at the low end stay closed.
  Stacks(unsigned most, size_t stride, size_t guard)
      : most_(most), stride_(stride), guard_(guard) {}
  Stacks(const Stacks&) = delete;
  ~Stacks();

  // Makes the first `count` stacks usable. False: no memory.
  bool provide(unsigned count);
  // The high end of a stack, 16-byte aligned.
  char* top(unsigned index) const;
  // Whether `address` is in a guard, or in a stack that nobody may use yet.
  bool is_guard(uintptr_t address) const;

 private:
  const unsigned most_;
  const size_t stride_;
  const size_t guard_;
  char* base_ = nullptr;
  unsigned ready_ = 0;
};

}  // namespace openmps
