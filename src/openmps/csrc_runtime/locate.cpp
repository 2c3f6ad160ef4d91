// A piece runs its threads together, often in one vector: the processor tells the address, not the
// thread. A piece that is cut short faults if the first thread that faults is still in it.
#include "locate.h"

#include <sys/uio.h>
#include <unistd.h>

#include "isolated.h"
#include "job.h"
#include "participate.h"
#include "simdgroup_style.h"
#include "stop.h"
#include "switch.h"
#include "worker.h"

namespace openmps {

namespace {

constexpr uint64_t kMostSavedBytes = uint64_t{1} << 30;
// Up to here what a try has written is undone before the next.
constexpr uint64_t kFewBytes = 4 << 20;
constexpr uint64_t kLimitNs = 200'000'000;  // of one try

// The contents of all that the dispatch names, to be put back. The kernel copies them, because some
// of it may be what may not be touched.
class Contents {
 public:
  explicit Contents(const Dispatch& dispatch) : dispatch_(dispatch) {
    each([this](void*, uint64_t bytes) { return bytes_ += bytes, true; });
    if (bytes_ == 0 || bytes_ > kMostSavedBytes) return;
    saved_ = map_isolated(bytes_);
    complete_ = saved_ && copy(process_vm_readv);
  }
  ~Contents() {
    if (complete_) put_back();
    if (saved_) unmap_isolated(saved_, bytes_);
  }
  bool are_saved() const { return complete_; }
  bool are_few() const { return bytes_ <= kFewBytes; }
  void put_back() { copy(process_vm_writev); }

 private:
  template <class Do>
  bool each(Do action) const {
    bool all = true;
    for (unsigned i = 0; i < kBuffers; ++i) {
      if (dispatch_.buffers[i]) all &= action(dispatch_.buffers[i], dispatch_.buffer_bytes[i]);
    }
    for (uint64_t i = 0; i < dispatch_.extent_count; ++i) {
      const Extent& extent = dispatch_.extents[i];
      all &= action(reinterpret_cast<void*>(extent.address), extent.bytes);
    }
    return all;
  }
  template <class Copy>
  bool copy(Copy between) const {
    char* place = saved_;
    return each([&](void* buffer, uint64_t bytes) {
      const struct iovec ours = {place, bytes}, theirs = {buffer, bytes};
      place += bytes;
      return between(getpid(), &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(bytes);
    });
  }

  const Dispatch& dispatch_;
  uint64_t bytes_ = 0;
  char* saved_ = nullptr;
  bool complete_ = false;
};

struct Try {
  Block block;
  Worker* worker;
  Job* job;
};

void run_block(void* argument) {
  const Try& what = *static_cast<Try*>(argument);
  Worker* worker = what.worker;
  worker->in_kernel.store(true);
  if (what.job->dispatch->style == kSimdgroups) {
    run_simdgroups(worker, what.job);
  } else {
    reinterpret_cast<PlainEntry*>(what.job->dispatch->entry)(&what.job->launch, &what.block);
  }
  current_worker->in_kernel.store(false);
  openmps_finish(current_worker->way_out);
}

// Whether the threads of `block` fault as the whole piece did. Then `report` says where.
bool faults(Worker* worker, const Job& failed, const Block& block, Report* report) {
  Job job;
  job.dispatch = failed.dispatch;
  job.launch = failed.launch;
  job.pieces = failed.pieces;
  job.batch = 1;
  job.dynamic_bytes = failed.dynamic_bytes;
  job.deadline_ns = now_ns() + kLimitNs;
  job.launcher = worker;
  job.report = report;
  *report = {};
  for (int axis = 0; axis < 3; ++axis) worker->position[axis] = failed.position[axis];
  describe_group(worker, block);
  worker->job.store(&job);
  if (!worker->prepare(job)) return false;
  arm_timer(worker, kLimitNs);
  Try what{block, worker, &job};
  if (openmps_enter(&worker->way_out, run_block, &what, worker->own_stack.top(0))) {
    worker->forget_fibres();
  }
  worker->job.store(nullptr);
  disarm_timer(worker);
  job.padding.remove();
  return job.stop.load() == failed.stop.load();
}

}  // namespace

void locate_fault(Worker* worker, const Job& failed) {
  Block block;
  failed.pieces.measure(failed.position, &block);
  Report* report = failed.report;
  if (failed.dispatch->style == kThreads) {
    report->thread_known = 1;  // it had a fibre of its own
    unsigned index = report->thread;
    for (int axis = 0; axis < 3; ++axis) {
      const unsigned shape = block.end[axis] - block.begin[axis];
      report->thread_in_grid[axis] = block.begin[axis] + index % shape;
      index /= shape;
    }
    return;
  }
  Contents contents(*failed.dispatch);
  Report found;
  if (!contents.are_saved() || !faults(worker, failed, block, &found)) return;
  uint64_t address = found.address;
  for (int axis = 2; axis >= 0; --axis) {
    unsigned without = block.begin[axis], with = block.end[axis];
    while (with - without > 1) {
      if (contents.are_few()) contents.put_back();
      const unsigned middle = without + (with - without) / 2;
      block.end[axis] = middle;
      if (faults(worker, failed, block, &found)) {
        with = middle;
        address = found.address;
      } else {
        without = middle;
      }
    }
    block.end[axis] = with;
  }
  report->thread_known = 1;
  report->address = address;
  Block whole;
  failed.pieces.measure(failed.position, &whole);
  unsigned index = 0;
  for (int axis = 2; axis >= 0; --axis) {
    report->thread_in_grid[axis] = block.end[axis] - 1;
    index = index * (whole.end[axis] - whole.begin[axis]) + block.end[axis] - 1 - whole.begin[axis];
  }
  report->simdgroup = index / kSimdWidth;
}

}  // namespace openmps
