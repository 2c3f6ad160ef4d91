// What the memory figures count: bytes of live mps storages. Book-keeping only; no bytes live here.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <cstdint>

namespace openmps::memory {

void count_allocation(size_t bytes) noexcept;
void count_release(size_t bytes) noexcept;

size_t allocated_bytes() noexcept;
// Bytes taken from the machine for mps: allocated ones, and what the backing allocator keeps cached.
size_t reserved_bytes();

c10::CachingDeviceAllocator::DeviceStats statistics();
void reset_peak();
void reset_accumulated();

}  // namespace openmps::memory
