// What an OS thread needs to run kernels: stacks, threadgroup memory, a way out. Made at a thread's
// first launch, kept until the thread ends.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include <atomic>

#include "api.h"
#include "stacks.h"

namespace openmps {

struct Job;
struct Simdgroup;

constexpr unsigned kMostThreads = 1024;  // in a threadgroup
constexpr unsigned kMostSimdgroups = kMostThreads / kSimdWidth;

// The most that a kernel's functions may take of a stack: a thread's, and that of 32 in lock-step.
constexpr uint32_t kMostThreadStack = 2 << 20;
constexpr uint32_t kMostSimdgroupStack = kMostThreadStack * kSimdWidth;
// Up to here a simdgroup that is alone in its threadgroup needs no fibre.
constexpr uint32_t kSmallStack = 64 << 10;

// One fibre per simdgroup. Bit i of a mask is simdgroup i.
struct SimdgroupFibres {
  uint32_t live = 0;     // those that have not returned
  uint32_t waiting = 0;  // those at a barrier
  unsigned current = 0;
  unsigned primed = 0;  // fibres that stand ready to run the next threadgroup
  void* host = nullptr;
  char* host_arrays = nullptr;
  void* context[kMostSimdgroups];
  char* context_arrays[kMostSimdgroups] = {};
  Stacks stacks{kMostSimdgroups, 960 << 10, 64 << 10};
  Stacks arrays{kMostSimdgroups, 960 << 10, 64 << 10};
};

// One fibre per thread.
struct ThreadFibres {
  unsigned current = 0;  // index in the threadgroup
  unsigned primed = 0;
  void* host = nullptr;
  void* context[kMostThreads];
  Simdgroup* simdgroups = nullptr;  // kMostSimdgroups of them
  Stacks stacks{kMostThreads, 192 << 10, 64 << 10};
  Stacks arrays{kMostThreads, 192 << 10, 64 << 10};
};

struct Worker {
  Worker() = default;
  ~Worker();

  // Makes ready whatever the next job needs. False: no memory.
  bool prepare(const Job& next);
  // After a kernel was left half-way, its fibres are of no use.
  void forget_fibres() { simdgroups.primed = threads.primed = 0; }

  // Read by signal handlers. A thread may be taken out of kernel code, by a change of its context
  // to openmps_left, exactly while in_kernel is set: nothing in there owns a lock or memory.
  std::atomic<Job*> job{nullptr};
  std::atomic<bool> in_kernel{false};
  void* way_out = nullptr;

  pthread_t thread;
  pid_t thread_id = 0;
  bool is_main = false;  // the thread that Ctrl-C interrupts
  int timer = -1;        // sends the stop signal to this thread
  bool timer_armed = false;
  char* alternate_stack = nullptr;

  Report report = {};  // of the last launch from this thread
  Threadgroup group;
  unsigned position[3];  // of the piece that runs
  uint64_t threads_done = 0;
  SimdgroupFibres simdgroups;
  ThreadFibres threads;
  // What kernels run on that have no fibres, and their local arrays.
  Stacks own_stack{1, 960 << 10, 64 << 10};
  Stacks own_arrays{1, 960 << 10, 64 << 10};
  char* dynamic = nullptr;  // zeros at first, in whole pages
  size_t dynamic_bytes = 0;

 private:
  void give_back_dynamic();
  bool provide(Stacks* stacks, unsigned count, uint32_t bytes);
  bool provide_alone(uint32_t bytes);
};

// The static TLS model: signal handlers and barriers read it, and must not allocate.
extern __thread Worker* current_worker __attribute__((tls_model("initial-exec")));

// This thread's worker, made if there is none; null: no memory.
Worker* this_worker();

}  // namespace openmps
