// Threadgroups of openmps_thread kernels: one fibre per thread. A thread that calls a function of
// lanes.h stops there; when no thread of its simdgroup can go on, those that stand at the lowest
// call site do the call together.
#pragma once

#include <stdint.h>
#include <string.h>

#include "api.h"

namespace openmps {

struct Job;
struct Worker;
struct Simdgroup;

// Does one call for the lanes of `active`: reads their `in`, writes their `out`.
using Execute = void(Simdgroup* simdgroup, uint32_t active);

constexpr unsigned kMostArguments = 6;

// Bit i of a mask is lane i.
struct Simdgroup {
  uint32_t ready;    // lanes that can run
  uint32_t calling;  // lanes that stand at a call
  uint32_t waiting;  // lanes at a threadgroup barrier
  const void* site[kSimdWidth];
  uint32_t number[kSimdWidth];  // of the lane's next call, in the program's order; 0: not told
  Execute* execute[kSimdWidth];
  uint64_t in[kMostArguments][kSimdWidth];
  uint64_t out[kSimdWidth];
};

Simdgroup* new_simdgroups();
void delete_simdgroups(Simdgroup* simdgroups);

// Runs worker->group.
void run_threads(Worker* worker, Job* job);

// At a loop's back-edge lanes only wait for each other.
void execute_back_edge(Simdgroup* simdgroup, uint32_t active);

// For the functions of lanes.h, in the fibre of the thread that calls them.
struct Lane {
  Simdgroup* simdgroup;
  unsigned index;
};
Lane this_lane();
void wait_at_barrier();
// Stops until the call has been done with others.
void meet(Lane lane, const void* site, Execute* execute);

}  // namespace openmps
