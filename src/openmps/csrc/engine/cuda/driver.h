// What the CUDA engine needs of the driver itself: launching kernels that openmps compiled, and
// moving bytes between them. Python opens libcuda and gives the table of its functions
// (csrc_cuda/driver.h), so one build of the core serves machines with and without it.
#pragma once

#include <cstddef>

#include "include/msl/launch/cuda_launch.h"

namespace openmps::cuda_driver {

// Makes PyTorch's context current, which it is not in a thread that has not used the GPU yet.
void enter_context();

// Queues a kernel (a CUfunction) whose threadgroups lie along x.
void launch(void* function, CudaLaunch& parameters);

// Queues a copy from one place on the device to another.
void copy(void* to, const void* from, size_t bytes);

}  // namespace openmps::cuda_driver
