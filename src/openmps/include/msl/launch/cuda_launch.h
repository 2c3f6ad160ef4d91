// What a generated CUDA kernel and whoever launches it agree on. Plain data.
//
// A kernel is `extern "C" __global__ void openmps_cuda(const __grid_constant__ CudaLaunch)`, one to
// a module. grid = groups, block = group; one or the other is a product along x, as `flat` says.
// Dynamic shared memory = the sum of the [[threadgroup(n)]] sizes, each rounded up to 16 bytes.
#pragma once

#include "counts.h"

namespace openmps {

constexpr unsigned kInlineBytes = 512;
// Bits of `flat`: what CUDA's y and z do not reach, or are not needed for.
constexpr unsigned kFlatGroups = 1;   // threadgroups are numbered along blockIdx.x alone
constexpr unsigned kFlatThreads = 2;  // a threadgroup's threads along threadIdx.x alone
constexpr unsigned kLine = 4;         // grid and threadgroups have one axis: nothing to find out

// The kernel's only parameter. layouts.py has it, too.
struct CudaLaunch {
  void* buffers[kBuffers];  // addresses; null where nothing is bound or the bytes are inline
  unsigned grid[3];         // threads in the grid
  unsigned group[3];        // threads in a whole threadgroup
  unsigned groups[3];       // threadgroups in the grid, edge ones included
  unsigned flat;            // kFlatGroups, kFlatThreads, both; kLine; or 0
  unsigned dynamic_offset[kBuffers];  // where [[threadgroup(n)]] begins in dynamic memory
  // 0: not inline; else 1 + where in `bytes` the buffer begins, a multiple of 16. Only parameters
  // in the constant address space may be inline.
  unsigned short inline_offset[kBuffers];
  unsigned short nothing;
  alignas(16) unsigned char bytes[kInlineBytes];
};

}  // namespace openmps
