#include "engine/cuda/kernel_launch.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "engine/cuda/driver.h"

namespace openmps {

void launch_on_cuda(void* function, uint32_t threads, c10::ArrayRef<KernelArgument> arguments) {
  constexpr unsigned kGroup = 256;
  constexpr size_t kAlignment = 16;
  CudaLaunch launch;
  std::memset(&launch, 0, offsetof(CudaLaunch, bytes));
  launch.grid[0] = threads;
  launch.group[0] = std::min(threads, kGroup);
  launch.groups[0] = (threads - 1) / launch.group[0] + 1;
  for (unsigned axis = 1; axis < 3; ++axis) {
    launch.grid[axis] = launch.group[axis] = launch.groups[axis] = 1;
  }
  launch.flat = kLine;
  size_t used = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    if (argument.host_bytes == 0) {
      launch.buffers[i] = const_cast<void*>(argument.data);
      continue;
    }
    TORCH_INTERNAL_ASSERT(used + argument.host_bytes <= kInlineBytes);
    std::memcpy(launch.bytes + used, argument.data, argument.host_bytes);
    launch.inline_offset[i] = static_cast<unsigned short>(used + 1);
    used += (argument.host_bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  cuda_driver::launch(function, launch);
}

}  // namespace openmps
