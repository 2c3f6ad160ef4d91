#include "launch.h"

#include "../csrc_runtime/layout.h"

namespace openmps {

OPENMPS_LAYOUT(openmps_cuda_layout) = {
    OPENMPS_STRUCTURE(CudaLaunch),
    OPENMPS_FIELD(CudaLaunch, buffers),
    OPENMPS_FIELD(CudaLaunch, grid),
    OPENMPS_FIELD(CudaLaunch, group),
    OPENMPS_FIELD(CudaLaunch, groups),
    OPENMPS_FIELD(CudaLaunch, flat),
    OPENMPS_FIELD(CudaLaunch, dynamic_offset),
    OPENMPS_FIELD(CudaLaunch, inline_offset),
    OPENMPS_FIELD(CudaLaunch, nothing),
    OPENMPS_FIELD(CudaLaunch, bytes),

    OPENMPS_STRUCTURE(CudaDriver),
    OPENMPS_FIELD(CudaDriver, get_context),
    OPENMPS_FIELD(CudaDriver, set_context),
    OPENMPS_FIELD(CudaDriver, launch),
    OPENMPS_FIELD(CudaDriver, allocate),
    OPENMPS_FIELD(CudaDriver, copy_from_host),
    OPENMPS_FIELD(CudaDriver, copy),
    OPENMPS_FIELD(CudaDriver, release),
    OPENMPS_FIELD(CudaDriver, error_text),
    OPENMPS_FIELD(CudaDriver, context),

    OPENMPS_STRUCTURE(CudaKernel),
    OPENMPS_FIELD(CudaKernel, driver),
    OPENMPS_FIELD(CudaKernel, name),
    OPENMPS_FIELD(CudaKernel, inlined),
    OPENMPS_FIELD(CudaKernel, declared),
    OPENMPS_FIELD(CudaKernel, functions),
    {nullptr, 0, 0},
};

}  // namespace openmps
