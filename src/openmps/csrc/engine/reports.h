// Errors that Metal kernels report (c10::metal::report_error). As natively, the program sees the
// first one when it next waits for the device.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

namespace openmps {

// Reports on a kernel's behalf, from the host.
void report(const std::string& message);

// Where kernels report to: a c10::metal::ErrorMessages, made at the first call and kept for good.
void* report_buffer();
size_t report_buffer_bytes();

extern std::atomic<void*> g_reports;
void raise_reported();

// Throws c10::AcceleratorError if a kernel has reported anything since the last call. Call it
// wherever the native device waits. Free where no kernel ever asked for the buffer.
inline void raise_report() {
  if (g_reports.load(std::memory_order_relaxed) != nullptr) raise_reported();
}

// Waits for everything queued on the device, and throws what its kernels reported.
void finish();

// The same for an operator that is about to wait by itself: waits only if there may be a report.
inline void raise_report_by_now() {
  if (g_reports.load(std::memory_order_relaxed) != nullptr) finish();
}

}  // namespace openmps
