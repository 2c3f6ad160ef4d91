// Enters memory in the Mac's books before it is taken from the machine. Operators run on the
// backing device and take their results from its allocator; on the CPU the accountant stands in
// front of that allocator, and looks up only while its thread is inside an mps operator. Bytes that
// came another way (the CUDA engine's results, a program's own CPU allocator) are entered when they
// become an mps storage.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>

#include "memory/fast_thread_local.h"

namespace openmps {

struct Buffer;

// Read at every CPU allocation of the process: a bare flag in the static TLS block costs one load.
inline OPENMPS_FAST_THREAD_LOCAL bool g_counting = false;

// While it lives, CPU memory that this thread takes is an mps operator's; Counting(false): is not.
class Counting {
 public:
  explicit Counting(bool on = true) : before_(g_counting) { g_counting = on; }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  ~Counting() { g_counting = before_; }

 private:
  const bool before_;
};

// Puts the accountant in front of the CPU's allocator.
void install_accountant();

// Backing memory for an mps storage. Throws a Mac's error, and takes nothing, if it does not fit.
c10::DataPtr allocate_counted(size_t bytes);
// The same for bytes that are in the books already.
c10::DataPtr allocate_behind(Buffer* entry, size_t bytes);

// Enters the bytes of a backing storage, unless they were.
void count_in(c10::StorageImpl& backing);

// Puts other bytes behind a backing storage, and its entry in the books behind those. Returns the
// bytes that were there.
c10::DataPtr replace_bytes(c10::StorageImpl& backing, c10::DataPtr bytes);

// Takes the entry in the books away from the bytes of a backing storage, which stay where they are.
// nullptr if there was none.
Buffer* take_entry(c10::StorageImpl& backing) noexcept;

}  // namespace openmps
