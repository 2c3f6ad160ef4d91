// Where tensors' bytes lie on the CPU engine once Metal kernels see them: each buffer far from all
// other memory of the process (csrc_runtime/slots.h), so that an index that goes astray writes to
// no tensor and to nothing of the allocator's. Large buffers begin there; small ones move there
// when a kernel is first given them.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

namespace openmps::guarded_memory {

// Buffers from this size on begin in a place of their own: moving them would cost a copy.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kLarge = SIZE_MAX;  // the sanitizer watches the memory that it gives itself
#else
constexpr size_t kLarge = size_t{64} << 10;
#endif

// CPU memory in a place of its own; a null pointer if there is none.
c10::DataPtr take(size_t bytes);

// Moves the bytes of an mps storage there, unless they are there already, came from elsewhere
// (from_blob, DLPack) or are in use on the backing device. True: they moved.
bool move(const c10::Storage& mps);

// Gives memory that nobody uses back to the machine.
void release_unused();

}  // namespace openmps::guarded_memory
