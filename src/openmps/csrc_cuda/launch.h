// What targets/cuda_driver.py hands over: the driver's functions, and a kernel. Both stay for good.
// The driver's headers are on few machines, so its types are written as what they are.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../csrc_runtime/api.h"
#include "../include/msl/launch/cuda_launch.h"

namespace openmps {

// Of libcuda.so.1. Each answers 0, or the number of an error.
struct CudaDriver {
  int (*get_context)(void** context);
  int (*set_context)(void* context);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned group_x,
                unsigned group_y, unsigned group_z, unsigned shared_bytes, void* stream,
                void** parameters, void** extra);
  int (*allocate)(uint64_t* address, size_t bytes, void* stream);
  int (*copy)(uint64_t address, const void* bytes, size_t size, void* stream);
  int (*release)(uint64_t address, void* stream);
  void* context;  // the one that torch uses
};

constexpr unsigned kAlignments = 5;

struct CudaKernel {
  const CudaDriver* driver;
  const char* name;
  uint32_t inlined;   // bit n: buffer n is `constant`, so a value for it travels with the launch
  uint32_t declared;  // bit n: the kernel has a buffer n
  // For buffers at multiples of 1, 2, 4, 8 and 16 bytes; null where it was never needed.
  void* functions[kAlignments];
};

// Ours, beside the driver's. kNotBuilt + n: functions[n] is needed, and null.
enum CudaFailure : int { kTooManyGroups = -1, kNotBuilt = -16 };

}  // namespace openmps

// Queues a dispatch whose entry is a CudaKernel, and returns at once.
OPENMPS_EXPORT int openmps_cuda_launch(const openmps::Dispatch* dispatch);
// The name of the kernel that was queued last; null if there was none.
OPENMPS_EXPORT const char* openmps_cuda_last_kernel();
