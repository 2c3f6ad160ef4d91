#pragma once

#include <c10/core/CachingDeviceAllocator.h>

namespace openmps {

c10::DeviceAllocator* mps_allocator();

}  // namespace openmps
