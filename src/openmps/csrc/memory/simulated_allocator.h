// The model of a Mac's allocator in this process: its pools (pools.h) behind one lock, and the
// figures that torch.mps and torch.accelerator ask for. Opened at the first question, which reads
// and checks the PYTORCH_MPS_* variables; so a wrong one is told there, every time, as on a Mac.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <string>

#include "memory/pools.h"

namespace openmps::memory {

// How to free the bytes behind a buffer: as in a DataPtr, a context and its deleter.
struct Bytes {
  void* context = nullptr;
  void (*release)(void*) = nullptr;
};

// Enters `bytes` in the pools. Throws a Mac's error if they do not fit. Any thread.
Buffer* take(size_t bytes);
// The bytes behind `buffer`, which is free again; releasing them is left to the caller.
Bytes give_back(Buffer* buffer) noexcept;

// For bytes whose deleter gets nothing but their address.
void remember_address(const void* address, Buffer* buffer);
// Gives back the buffer at `address`; false if no buffer is known there.
bool give_back_address(const void* address, Bytes* bytes) noexcept;
// The buffer at `address`, of which nothing is known from now on; nullptr if nothing was.
Buffer* forget_address(const void* address) noexcept;

// Raises the error for bytes that fit the Mac and that the machine does not have.
[[noreturn]] void machine_has_no_more(size_t bytes, const std::string& cause);
// The same for a GPU that is full, where only the cause says how much was asked for.
[[noreturn]] void gpu_has_no_more(const std::string& cause);

bool is_open() noexcept;
void empty_cache();
void set_high_watermark(double ratio);

size_t allocated_bytes();  // of buffers in use
size_t driver_bytes();     // of heaps

c10::CachingDeviceAllocator::DeviceStats statistics();
void reset_peak();
void reset_accumulated();

}  // namespace openmps::memory
