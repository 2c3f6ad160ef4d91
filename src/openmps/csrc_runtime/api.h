// What Python hands to the runtime, and what it gets back. layouts.py has these structures, too,
// and layout.cpp tells it where their fields lie.
#pragma once

#include <stdint.h>

#include "../include/msl/launch/launch.h"

#define OPENMPS_EXPORT extern "C" __attribute__((visibility("default")))

namespace openmps {

// How a kernel is entered, and what one piece of work is.
enum Style : uint32_t {
  kBoxes = 0,       // PlainEntry, any box of the grid
  kGroups = 1,      // PlainEntry, a threadgroup
  kSimdgroups = 2,  // SimdgroupEntry
  kThreads = 3,     // ThreadEntry
};

enum Code : uint32_t {
  kFine = 0,
  kMemoryFault = 1,
  kArithmeticFault = 2,     // SIGFPE
  kIllegalInstruction = 3,  // SIGILL, SIGTRAP
  kStackOverflow = 4,       // at an address, or known before the start: the address is 0
  kInterrupted = 5,         // Ctrl-C
  kTimeLimit = 6,
  kOutOfMemory = 7,
  kInvalidDispatch = 8,
};

// Memory that a kernel may touch.
struct Extent {
  uint64_t address;
  uint64_t bytes;
};

struct Dispatch {
  void* entry;
  uint16_t style;
  uint16_t variables;    // bytes / 16 that a kSimdgroups kernel's threadgroup variables take
  uint32_t workers;      // most OS threads to use, the calling one included
  float time_limit_s;    // 0: none
  uint32_t stack_bytes;  // that the kernel's functions take together, however they call each other
  uint32_t grid[3];      // threads
  uint32_t group[3];     // threads
  void* buffers[kBuffers];
  uint64_t buffer_bytes[kBuffers];  // of buffers[i]; 0: not known
  const Extent* extents;            // further memory, reached through pointers in buffers
  uint64_t extent_count;
  uint32_t dynamic_bytes[kBuffers];  // of [[threadgroup(i)]]
  uint32_t copied;  // bit i: buffers[i] is a value in host memory, and may be copied
};

struct Report {
  uint32_t code;
  uint32_t style;
  uint64_t address;       // of the access that failed; 0 if the processor does not tell
  uint32_t position[3];   // of the threadgroup, or the first thread of the box
  uint32_t simdgroup;     // styles kSimdgroups and kThreads
  uint32_t thread;        // style kThreads: index in the threadgroup
  uint32_t padded_pages;  // zero pages that were put next to buffers for accesses out of bounds
  uint32_t workers;       // OS threads that took part
  uint32_t thread_known;  // which thread faulted is known, and the address is its own
  uint32_t thread_in_grid[3];
  uint64_t threadgroup_memory;  // where it lay; what fibres keep elsewhere is not in it
  uint64_t threadgroup_bytes;
};

}  // namespace openmps

// Runs a dispatch to its end. Returns a Code.
OPENMPS_EXPORT int openmps_launch(const openmps::Dispatch* dispatch);
// About this thread's last launch, until its next one.
OPENMPS_EXPORT const openmps::Report* openmps_last_report();

// For openmps_simdgroup kernels: wait for the other simdgroups; let another simdgroup run.
OPENMPS_EXPORT void openmps_lanes_barrier();
OPENMPS_EXPORT void openmps_lanes_yield();
