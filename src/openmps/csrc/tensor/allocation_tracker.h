// Tells the simulated allocator (memory/) of every allocation before it is taken from the machine.
// Operators run on the engine's device and take their results from its allocator: where an engine
// puts a tracking allocator in front of that (engine/cpu), bytes are entered as they are taken.
// Bytes that came another way are entered when they become an mps storage.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/FunctionRef.h>

#include "memory/fast_thread_local.h"

namespace openmps {

struct Buffer;

// Read at every CPU allocation of the process: a bare flag in the static TLS block costs one load.
inline OPENMPS_FAST_THREAD_LOCAL bool g_tracking = false;

// False while this thread computes what a Mac would not hold: results are then nobody's memory.
inline OPENMPS_FAST_THREAD_LOCAL bool g_counts_results = true;

// While it lives, CPU memory that this thread takes is an mps operator's; Tracking(false): is not.
class Tracking {
 public:
  explicit Tracking(bool on = true) : before_(g_tracking) { g_tracking = on && g_counts_results; }
  Tracking(const Tracking&) = delete;
  Tracking& operator=(const Tracking&) = delete;
  ~Tracking() { g_tracking = before_; }

 private:
  const bool before_;
};

// Backing memory for an mps storage. Throws a Mac's error, and takes nothing, if it does not fit.
c10::DataPtr allocate_tracked(size_t bytes);
// The same for bytes that have their buffer already.
c10::DataPtr allocate_for(Buffer* buffer, size_t bytes);

// Enters the bytes of a backing storage, unless they were.
void track(c10::StorageImpl& backing);

// Puts other bytes behind a backing storage, and its buffer behind those. Returns the bytes that
// were there.
c10::DataPtr replace_bytes(c10::StorageImpl& backing, c10::DataPtr bytes);

// Takes the buffer away from the bytes of a backing storage, which stay where they are. nullptr if
// there was none.
Buffer* take_buffer(c10::StorageImpl& backing) noexcept;

// ---- for an allocator that stands in front of another one

// What `give` gives, tracked. The address is the context: some callers keep nothing else.
c10::DataPtr track_by_address(size_t bytes, c10::function_ref<c10::DataPtr()> give);
// The deleter of such a DataPtr. Of an address that is not tracked it calls `g_free_untracked`.
void release_address(void* address);
extern void (*g_free_untracked)(void* address);
bool is_tracked(const c10::DataPtr& data);

}  // namespace openmps
