// What a generated kernel and the runtime that launches it agree on. Plain data.
#pragma once

#include "counts.h"

namespace openmps {

// One dispatch, read only while it runs.
struct Launch {
  void* const* buffers;               // kBuffers addresses; null where nothing is bound
  unsigned grid[3];                   // threads in the grid
  unsigned group[3];                  // threads in a whole threadgroup
  unsigned groups[3];                 // threadgroups in the grid, edge ones included
  unsigned dynamic_offset[kBuffers];  // where [[threadgroup(n)]] memory begins in `dynamic`
};

// One threadgroup. Those at the grid's edge have fewer threads, not idle ones.
struct Threadgroup {
  unsigned position[3];  // in the grid, in threadgroups
  unsigned shape[3];     // threads along each axis
  unsigned threads;      // the product of shape
  unsigned simdgroups;   // threads / 32, rounded up
  // Threadgroup memory, 64-byte aligned: for [[threadgroup(n)]] arguments, at
  // Launch::dynamic_offset; before them, in openmps_simdgroup kernels, for variables.
  char* dynamic;
};

// A box of threads of the grid: begin included, end excluded.
struct Block {
  unsigned begin[3];
  unsigned end[3];
};

// The three ways a kernel library can be entered; it exports one of them.
//
// openmps_plain      All threads of a block, in a loop, where threads do not coordinate. A block
//                    is a threadgroup, or any box if the kernel only looks at the grid.
// openmps_simdgroup  The 32 threads of one simdgroup in lock-step. Calls openmps_lanes_barrier.
// openmps_thread     One thread. Calls the functions of lanes.h, which the runtime defines.
using PlainEntry = void(const Launch*, const Block*);
using SimdgroupEntry = void(const Launch*, const Threadgroup*, unsigned simdgroup);
using ThreadEntry = void(const Launch*, const Threadgroup*, unsigned x, unsigned y, unsigned z,
                         unsigned lane, unsigned simdgroup);

}  // namespace openmps
