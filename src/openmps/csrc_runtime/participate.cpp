#include "participate.h"

#include "job.h"
#include "simdgroup_style.h"
#include "stop.h"
#include "switch.h"
#include "thread_style.h"
#include "worker.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace openmps {

namespace {

void describe_group(Worker* worker, const Job& job) {
  Block block;
  job.pieces.measure(worker->position, &block);
  describe_group(worker, block);
}

void run_piece(Worker* worker, Job* job) {
  if (job->dispatch->style == kSimdgroups) {
    describe_group(worker, *job);
    run_simdgroups(worker, job);
  } else if (job->dispatch->style == kThreads) {
    describe_group(worker, *job);
    run_threads(worker, job);
  } else {
    Block block;
    job->pieces.measure(worker->position, &block);
    reinterpret_cast<PlainEntry*>(job->dispatch->entry)(&job->launch, &block);
  }
}

// From here on the thread may be taken out at any moment: no locks, no allocation, no destructors.
// A kernel may have damaged this stack: what it holds is looked up again after each piece.
void run_pieces(void*) {
  current_worker->in_kernel.store(true);
  for (;;) {
    Worker* worker = current_worker;
    Job* job = worker->job.load(std::memory_order_relaxed);
    if (job->stop.load() != kFine) break;
    const uint64_t count = job->pieces.count();
    uint64_t piece = job->next.fetch_add(job->batch, std::memory_order_relaxed);
    if (piece >= count) break;
    const uint64_t end = count - piece < job->batch ? count : piece + job->batch;
    job->pieces.locate(piece, worker->position);
    const uint64_t taken = end - piece;
    for (;;) {
      run_piece(worker, job);
      if (++piece >= end) break;
      job->pieces.advance(worker->position);
    }
    worker = current_worker;
    job = worker->job.load(std::memory_order_relaxed);
    if (job->launcher == worker) consider_recruiting(job, worker, taken);
  }
  current_worker->in_kernel.store(false);
  openmps_finish(current_worker->way_out);
}

}  // namespace

void describe_group(Worker* worker, const Block& block) {
  Threadgroup& group = worker->group;
  group.threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    group.position[axis] = worker->position[axis];
    group.shape[axis] = block.end[axis] - block.begin[axis];
    group.threads *= group.shape[axis];
  }
  group.simdgroups = (group.threads + kSimdWidth - 1) / kSimdWidth;
  group.dynamic = worker->dynamic;
}

void participate(Worker* worker, Job* job) {
  worker->job.store(job);
  if (!worker->prepare(*job)) {
    // Without memory for one more, those that have it do all the work.
    if (job->launcher == worker) {
      stop_job(job, kOutOfMemory, *worker, 0);
    } else {
      job->participants.fetch_sub(1, std::memory_order_relaxed);
    }
  } else if (openmps_enter(&worker->way_out, run_pieces, nullptr, worker->own_stack.top(0))) {
    worker->forget_fibres();
#if defined(__SANITIZE_ADDRESS__)
    __asan_handle_no_return();  // frames were left without their ends
#endif
  }
  // The launching thread goes on to wait for the others, and keeps its time limit meanwhile.
  if (job->launcher == worker) return;
  disarm_timer(worker);
  worker->job.store(nullptr);
}

}  // namespace openmps
