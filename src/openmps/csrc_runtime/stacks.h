// The fibre stacks of one OS thread: address space is reserved, memory comes when touched. Kernels
// probe their frames page by page, so none can reach past a guard without touching it.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace openmps {

class Stacks {
 public:
  // Room for `most` stacks of at least `least` bytes, with `guard` closed bytes below each.
  Stacks(unsigned most, size_t least, size_t guard)
      : most_(most), guard_(guard), stride_(least + guard) {}
  Stacks(const Stacks&) = delete;
  ~Stacks();

  enum Provided { kNoMemory, kAsBefore, kMoved };
  // Makes the first `count` stacks usable, each of at least `bytes`. Unless it answers kAsBefore,
  // those that were there are gone.
  Provided provide(unsigned count, size_t bytes);
  // The high end of a stack, 16-byte aligned.
  char* top(unsigned index) const;
  // Whether `address` is in a guard, or in a stack that nobody may use yet.
  bool is_guard(uintptr_t address) const;

 private:
  bool reserve(unsigned count);
  void release();

  const unsigned most_;
  const size_t guard_;
  size_t stride_;
  char* base_ = nullptr;
  unsigned reserved_ = 0;  // `most_`, unless address space is short
  unsigned ready_ = 0;
};

}  // namespace openmps
