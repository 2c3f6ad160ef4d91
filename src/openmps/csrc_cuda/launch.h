// What targets/cuda_driver.py hands over: a kernel, and the driver that it is launched with. Both
// stay for good.
#pragma once

#include <stdint.h>

#include "../csrc_runtime/api.h"
#include "../include/msl/launch/cuda_launch.h"
#include "driver.h"

namespace openmps {

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
