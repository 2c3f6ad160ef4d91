// Order: highest index first, at the start and after every barrier. Kernels that forget a barrier
// before simdgroup 0 writes the result are right on Apple's hardware, and in this order only.
#include "simdgroup_style.h"

#include "job.h"
#include "switch.h"
#include "worker.h"

namespace openmps {

namespace {

unsigned highest(uint32_t mask) { return 31u - static_cast<unsigned>(__builtin_clz(mask)); }

// The next of `mask` below `current`, round robin.
unsigned next_below(uint32_t mask, unsigned current) {
  const uint32_t below = mask & ((1u << current) - 1);
  return highest(below ? below : mask);
}

// Who runs after the current simdgroup has reached a barrier or its end. `live` is not empty.
unsigned next_simdgroup(SimdgroupFibres* fibres) {
  const uint32_t runnable = fibres->live & ~fibres->waiting;
  if (runnable) return next_below(runnable, fibres->current);
  fibres->waiting = 0;  // all have arrived
  return highest(fibres->live);
}

// Each has its own local arrays. Their place is changed before the jump: behind it there may be no
// more than a return, or the processor mispredicts where the next one goes.
void switch_to(SimdgroupFibres* fibres, unsigned next) {
  const unsigned self = fibres->current;
  fibres->current = next;
  fibres->context_arrays[self] = local_arrays();
  local_arrays() = fibres->context_arrays[next];
  openmps_switch_by_jump(&fibres->context[self], fibres->context[next]);
}

// A fibre's life: its simdgroup of one threadgroup after the other.
void live_as_simdgroup() {
  Worker* worker = current_worker;
  SimdgroupFibres* fibres = &worker->simdgroups;
  const unsigned self = fibres->current;
  for (;;) {
    Job* job = worker->job.load(std::memory_order_relaxed);
    auto* entry = reinterpret_cast<SimdgroupEntry*>(job->dispatch->entry);
    local_arrays() = fibres->arrays.top(self);
    entry(&job->launch, &worker->group, self);
    fibres->live &= ~(1u << self);
    if (fibres->live) {
      switch_to(fibres, next_simdgroup(fibres));
    } else {
      local_arrays() = fibres->host_arrays;
      openmps_switch_by_jump(&fibres->context[self], fibres->host);
    }
  }
}

}  // namespace

void run_simdgroups(Worker* worker, Job* job) {
  SimdgroupFibres* fibres = &worker->simdgroups;
  const unsigned count = worker->group.simdgroups;
  fibres->waiting = 0;
  fibres->current = count - 1;
  if (count == 1 && job->dispatch->stack_bytes <= kSmallStack) {
    fibres->live = 1;
    auto* entry = reinterpret_cast<SimdgroupEntry*>(job->dispatch->entry);
    entry(&job->launch, &worker->group, 0);
    return;
  }
  for (; fibres->primed < count; ++fibres->primed) {
    const unsigned index = fibres->primed;
    fibres->context[index] = fresh_context(fibres->stacks.top(index), live_as_simdgroup);
  }
  fibres->live = count == 32 ? ~0u : (1u << count) - 1;
  fibres->host_arrays = local_arrays();
  openmps_switch_by_jump(&fibres->host, fibres->context[count - 1]);
}

}  // namespace openmps

void openmps_lanes_barrier() {
  using namespace openmps;
  SimdgroupFibres* fibres = &current_worker->simdgroups;
  // Alone, or the last: nobody to wait for.
  if (!(fibres->live & (fibres->live - 1))) return;
  fibres->waiting |= 1u << fibres->current;
  const unsigned next = next_simdgroup(fibres);
  if (next != fibres->current) switch_to(fibres, next);
}

void openmps_lanes_yield() {
  using namespace openmps;
  SimdgroupFibres* fibres = &current_worker->simdgroups;
  const uint32_t runnable = fibres->live & ~fibres->waiting;
  const unsigned next = next_below(runnable, fibres->current);
  if (next != fibres->current) switch_to(fibres, next);
}
