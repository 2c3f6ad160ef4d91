// The Metal kernels that openmps itself brings (device/*.metal), compiled when a process first asks
// for one.
#pragma once

#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <string>

namespace openmps {

// What is bound to one of a kernel's buffers: memory of the device, or a few bytes of the host
// (Metal's setBytes), which a launch takes with it.
struct KernelArgument {
  const void* data;
  size_t host_bytes = 0;
};

template <class T>
KernelArgument bytes_of(const T& value) {
  return {&value, sizeof(value)};
}

class BuiltinKernel {
 public:
  explicit BuiltinKernel(void* code) : code_(code) {}

  // Runs that many threads; `arguments` are the kernel's, in its order.
  void run(int64_t threads, c10::ArrayRef<KernelArgument> arguments) const;

 private:
  void* code_;  // as the engine launches it
};

// The kernel of that name, for good; nullptr if there is none.
const BuiltinKernel* find_builtin_kernel(const std::string& name);

// Set once, before the first kernel is asked for: gives a kernel's code by its name, or null if
// there is no such kernel. It may take its time, and throw.
using FindKernelCode = void* (*)(const char* name);
extern FindKernelCode g_find_kernel_code;

}  // namespace openmps
