#include "layout.h"

#include "api.h"

namespace openmps {

OPENMPS_LAYOUT(openmps_runtime_layout) = {
    OPENMPS_STRUCTURE(Launch),
    OPENMPS_FIELD(Launch, buffers),
    OPENMPS_FIELD(Launch, grid),
    OPENMPS_FIELD(Launch, group),
    OPENMPS_FIELD(Launch, groups),
    OPENMPS_FIELD(Launch, dynamic_offset),

    OPENMPS_STRUCTURE(Threadgroup),
    OPENMPS_FIELD(Threadgroup, position),
    OPENMPS_FIELD(Threadgroup, shape),
    OPENMPS_FIELD(Threadgroup, threads),
    OPENMPS_FIELD(Threadgroup, simdgroups),
    OPENMPS_FIELD(Threadgroup, dynamic),

    OPENMPS_STRUCTURE(Extent),
    OPENMPS_FIELD(Extent, address),
    OPENMPS_FIELD(Extent, bytes),

    OPENMPS_STRUCTURE(Dispatch),
    OPENMPS_FIELD(Dispatch, entry),
    OPENMPS_FIELD(Dispatch, style),
    OPENMPS_FIELD(Dispatch, variables),
    OPENMPS_FIELD(Dispatch, workers),
    OPENMPS_FIELD(Dispatch, time_limit_s),
    OPENMPS_FIELD(Dispatch, stack_bytes),
    OPENMPS_FIELD(Dispatch, grid),
    OPENMPS_FIELD(Dispatch, group),
    OPENMPS_FIELD(Dispatch, buffers),
    OPENMPS_FIELD(Dispatch, buffer_bytes),
    OPENMPS_FIELD(Dispatch, extents),
    OPENMPS_FIELD(Dispatch, extent_count),
    OPENMPS_FIELD(Dispatch, dynamic_bytes),
    OPENMPS_FIELD(Dispatch, copied),

    OPENMPS_STRUCTURE(Report),
    OPENMPS_FIELD(Report, code),
    OPENMPS_FIELD(Report, style),
    OPENMPS_FIELD(Report, address),
    OPENMPS_FIELD(Report, position),
    OPENMPS_FIELD(Report, simdgroup),
    OPENMPS_FIELD(Report, thread),
    OPENMPS_FIELD(Report, padded_pages),
    OPENMPS_FIELD(Report, workers),
    OPENMPS_FIELD(Report, thread_known),
    OPENMPS_FIELD(Report, thread_in_grid),
    OPENMPS_FIELD(Report, threadgroup_memory),
    OPENMPS_FIELD(Report, threadgroup_bytes),
    {nullptr, 0, 0},
};

}  // namespace openmps
