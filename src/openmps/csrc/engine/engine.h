// The backing device: the PyTorch device on whose memory every mps tensor really lives.
// Chosen once, at activation. Nothing outside this file asks "is it the CPU or CUDA?" by name,
// except where a device has no events of its own.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace openmps {

inline const c10::Device kMpsDevice{c10::DeviceType::MPS, 0};

struct Backing {
  c10::Device device{c10::DeviceType::CPU};
  c10::DispatchKey key = c10::DispatchKey::CPU;
  c10::DispatchKeySet keys{c10::DispatchKey::CPU};
  // Key-set bits that say "this tensor is of that device". Turning an mps header into a backing one
  // is: clear mps_bits, set backing_bits; and the other way round. The backing side leaves out its
  // autocast key: torch.autocast("cpu") must not reach into an mps operator.
  uint64_t mps_bits = 0;
  uint64_t backing_bits = 0;
  uint64_t foreign_bits = 0;  // backing_bits plus the backing device's autocast key
  uint64_t plain_bits = 0;    // all that a strided mps tensor has which is nothing else besides

  bool is_cpu() const { return device.is_cpu(); }
};

extern Backing g_backing;
inline const Backing& backing() { return g_backing; }

// Throws for anything but CPU and CUDA.
void choose_backing(c10::DeviceType type);

// Before anything is asked of the backing device. CUDA starts with the first use of mps and not
// before: what has started cannot be used after fork().
void start_backing();
extern bool g_backing_started;
inline void ensure_backing_started() {
  if (!g_backing_started) start_backing();
}

// Looked up at each use: a program may replace the CPU allocator after activation.
inline c10::Allocator* backing_allocator() { return c10::GetAllocator(g_backing.device.type()); }

inline c10::impl::VirtualGuardImpl backing_guard() {
  return c10::impl::VirtualGuardImpl(g_backing.device.type());
}

// Call once in every thread that uses mps, before its first operator.
void prepare_thread();

// Waits for everything queued on the backing device. The CPU has no queue.
void synchronize_backing();

// Memory that the host and the backing device's kernels both see at the same address. Never freed.
void* allocate_shared(size_t bytes);

}  // namespace openmps
