// The Metal kernels that openmps itself brings (device/*.metal), compiled when a process first asks
// for one. On the CPU a launch is a call of the kernel's loop; on a GPU it is queued.
#pragma once

#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <string>

namespace openmps {

// One buffer of a kernel: memory of the device, or a few bytes of the host (Metal's setBytes),
// which a launch takes with it.
struct Bound {
  const void* data;
  size_t host_bytes = 0;
};

template <class T>
Bound bytes_of(const T& value) {
  return {&value, sizeof(value)};
}

class OwnKernel {
 public:
  explicit OwnKernel(void* code) : code_(code) {}

  // Runs that many threads; `buffers` are the kernel's, in its order.
  void run(int64_t threads, c10::ArrayRef<Bound> buffers) const;

 private:
  void* code_;  // a PlainEntry, or on the CUDA engine a CUfunction
};

// The kernel of that name, for good; nullptr if there is none.
const OwnKernel* find_own_kernel(const std::string& name);

// Set once, before the first kernel is asked for: gives a kernel's code by its name, or null if
// there is no such kernel. It may take its time, and throw.
using FindKernelCode = void* (*)(const char* name);
extern FindKernelCode g_find_kernel_code;

}  // namespace openmps
