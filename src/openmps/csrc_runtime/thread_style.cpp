#include "thread_style.h"

#include <new>

#include "job.h"
#include "switch.h"
#include "worker.h"

namespace openmps {

namespace {

unsigned lowest(uint32_t mask) { return static_cast<unsigned>(__builtin_ctz(mask)); }

// The current thread cannot go on: the next lane of its simdgroup does, or the scheduler.
void stop_thread(ThreadFibres* fibres, Simdgroup* simdgroup) {
  const unsigned self = fibres->current;
  simdgroup->ready &= ~(1u << self % kSimdWidth);
  if (simdgroup->ready) {
    const unsigned next = self / kSimdWidth * kSimdWidth + lowest(simdgroup->ready);
    fibres->current = next;
    switch_context(&fibres->context[self], fibres->context[next]);
  } else {
    switch_context(&fibres->context[self], fibres->host);
  }
}

// A fibre's life: its thread of one threadgroup after the other.
void live_as_thread() {
  Worker* worker = current_worker;
  ThreadFibres* fibres = &worker->threads;
  const unsigned self = fibres->current;
  const unsigned lane = self % kSimdWidth, simdgroup = self / kSimdWidth;
  for (;;) {
    Job* job = worker->job.load(std::memory_order_relaxed);
    auto* entry = reinterpret_cast<ThreadEntry*>(job->dispatch->entry);
    const Threadgroup& group = worker->group;
    const unsigned row = self / group.shape[0];
    local_arrays() = fibres->arrays.top(self);
    entry(&job->launch, &group, self % group.shape[0], row % group.shape[1], row / group.shape[1],
          lane, simdgroup);
    stop_thread(fibres, &fibres->simdgroups[simdgroup]);
  }
}

// Iterations of a loop that a simdgroup may do before another one runs: one may wait for what
// the other writes.
constexpr unsigned kIterationsInARow = 256;

// Does the call at the lowest site for all lanes that stand there. Returns what was called.
Execute* execute_call(Simdgroup* simdgroup) {
  const unsigned first = lowest(simdgroup->calling);
  const void* site = simdgroup->site[first];
  Execute* execute = simdgroup->execute[first];
  uint32_t active = 0;
  for (unsigned lane = first; lane < kSimdWidth; ++lane) {
    if (!(simdgroup->calling >> lane & 1)) continue;
    const void* here = simdgroup->site[lane];
    Execute* call = simdgroup->execute[lane];
    if (here < site) {
      site = here;
      execute = call;
      active = 0;
    }
    // Tail calls of different functions may share a return address: those go one after the other.
    if (here == site && call == execute) active |= 1u << lane;
  }
  simdgroup->calling &= ~active;
  execute(simdgroup, active);
  simdgroup->ready = active;
  return execute;
}

// True: some thread of the simdgroup got further.
bool run_simdgroup(ThreadFibres* fibres, unsigned index) {
  Simdgroup* simdgroup = &fibres->simdgroups[index];
  if (!simdgroup->ready && !simdgroup->calling) return false;
  for (unsigned done = 0; done < kIterationsInARow; ++done) {
    if (simdgroup->ready) {
      fibres->current = index * kSimdWidth + lowest(simdgroup->ready);
      switch_context(&fibres->host, fibres->context[fibres->current]);
    }
    if (!simdgroup->calling) break;
    fibres->current = index * kSimdWidth + lowest(simdgroup->calling);
    // A back-edge is no operation of the simdgroup's: the others have to wait.
    if (execute_call(simdgroup) != execute_back_edge) break;
  }
  return true;
}

bool release_barrier(ThreadFibres* fibres, unsigned simdgroups) {
  uint32_t any = 0;
  for (unsigned index = 0; index < simdgroups; ++index) {
    Simdgroup& simdgroup = fibres->simdgroups[index];
    any |= simdgroup.ready = simdgroup.waiting;
    simdgroup.waiting = 0;
  }
  return any != 0;
}

}  // namespace

Simdgroup* new_simdgroups() { return new (std::nothrow) Simdgroup[kMostSimdgroups](); }

void delete_simdgroups(Simdgroup* simdgroups) { delete[] simdgroups; }

void run_threads(Worker* worker, Job*) {
  ThreadFibres* fibres = &worker->threads;
  const Threadgroup& group = worker->group;
  for (; fibres->primed < group.threads; ++fibres->primed) {
    const unsigned index = fibres->primed;
    fibres->context[index] = fresh_context(fibres->stacks.top(index), live_as_thread);
  }
  for (unsigned index = 0; index < group.simdgroups; ++index) {
    Simdgroup& simdgroup = fibres->simdgroups[index];
    const unsigned lanes = group.threads - index * kSimdWidth;
    simdgroup.ready = lanes >= kSimdWidth ? ~0u : (1u << lanes) - 1;
    simdgroup.calling = simdgroup.waiting = 0;
    // A thread that returned, or was stopped, may have told the number of a call that never came.
    for (auto& number : simdgroup.number) number = 0;
  }
  // Simdgroups take turns at every call, highest index first, as simdgroup_style.cpp explains.
  do {
    bool further;
    do {
      further = false;
      for (unsigned index = group.simdgroups; index-- > 0;) further |= run_simdgroup(fibres, index);
    } while (further);
  } while (release_barrier(fibres, group.simdgroups));
}

Lane this_lane() {
  ThreadFibres* fibres = &current_worker->threads;
  const unsigned thread = fibres->current;
  return {&fibres->simdgroups[thread / kSimdWidth], thread % kSimdWidth};
}

void execute_back_edge(Simdgroup*, uint32_t) {}

void wait_at_barrier() {
  const Lane lane = this_lane();
  lane.simdgroup->waiting |= 1u << lane.index;
  stop_thread(&current_worker->threads, lane.simdgroup);
}

void meet(Lane lane, const void* site, Execute* execute) {
  const uintptr_t number = lane.simdgroup->number[lane.index];
  lane.simdgroup->site[lane.index] = number ? reinterpret_cast<const void*>(number) : site;
  lane.simdgroup->number[lane.index] = 0;
  lane.simdgroup->execute[lane.index] = execute;
  lane.simdgroup->calling |= 1u << lane.index;
  stop_thread(&current_worker->threads, lane.simdgroup);
}

}  // namespace openmps
