// What the memory figures count: bytes of live mps storages, and the limit on them. Book-keeping
// only; no bytes live here.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <cstdint>

namespace openmps::memory {

void count_allocation(size_t bytes) noexcept;
void count_release(size_t bytes) noexcept;

// Throws a Mac's out-of-memory error if `bytes` more would pass the high watermark.
void check_limit(size_t bytes);
// The same for `bytes` that are counted already: a tensor that grew inside an operator.
void check_grown(size_t bytes);
// The limit as a multiple of the Mac's recommended maximum; 0 lifts it.
void set_high_watermark(double ratio);
// What PYTORCH_MPS_HIGH_WATERMARK_RATIO says, or a Mac's default.
double initial_high_watermark();

size_t allocated_bytes() noexcept;
// Bytes taken from the machine for mps: allocated ones, and what the backing allocator keeps
// cached.
size_t reserved_bytes();

c10::CachingDeviceAllocator::DeviceStats statistics();
void reset_peak();
void reset_accumulated();

}  // namespace openmps::memory
