// NVIDIA's driver, which targets/cuda_driver.py opens for everyone. The driver's headers are on few
// machines, so its types are written as what they are.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace openmps {

// Functions of libcuda.so.1; there for good. Each answers 0, or the number of an error.
struct CudaDriver {
  int (*get_context)(void** context);
  int (*set_context)(void* context);
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned group_x,
                unsigned group_y, unsigned group_z, unsigned shared_bytes, void* stream,
                void** parameters, void** extra);
  int (*allocate)(uint64_t* address, size_t bytes, void* stream);
  int (*copy_from_host)(uint64_t to, const void* from, size_t bytes, void* stream);
  int (*copy)(uint64_t to, uint64_t from, size_t bytes, void* stream);
  int (*release)(uint64_t address, void* stream);
  int (*error_text)(int error, const char** text);
  void* context;  // the one that torch uses
};

}  // namespace openmps
