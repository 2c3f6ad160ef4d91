// openmps_launch: checks a dispatch, runs it here or with the pool's help, and reports.
#include "api.h"
#include "faults.h"
#include "job.h"
#include "locate.h"
#include "participate.h"
#include "pool.h"
#include "recruiting.h"
#include "stop.h"
#include "worker.h"

namespace openmps {

namespace {

constexpr uint64_t kMostDynamicBytes = 1 << 30;
constexpr uint64_t kAlignDynamic = 16;
// Small threadgroups are taken several at a time, up to about this many threads. A worker runs them
// in order, so that one which waits for an earlier threadgroup is always waiting for one that runs.
constexpr uint64_t kBatchThreads = 2048;

bool describe_launch(const Dispatch& dispatch, Job* job) {
  Launch& launch = job->launch;
  launch.buffers = dispatch.buffers;
  uint64_t grid_threads = 1, group_threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t grid = dispatch.grid[axis], group = dispatch.group[axis];
    if (!group) return false;
    launch.grid[axis] = dispatch.grid[axis];
    launch.group[axis] = dispatch.group[axis];
    launch.groups[axis] = static_cast<unsigned>((grid + group - 1) / group);
    if (__builtin_mul_overflow(grid_threads, grid, &grid_threads)) return false;
    group_threads = group_threads > kMostThreads ? group_threads : group_threads * group;
  }
  if (group_threads > kMostThreads || grid_threads >> 62) return false;
  // Variables first: their places are constants in the kernel's code.
  job->dynamic_bytes = uint64_t{dispatch.variables} * 16;
  for (unsigned i = 0; i < kBuffers; ++i) {
    launch.dynamic_offset[i] = static_cast<unsigned>(job->dynamic_bytes);
    job->dynamic_bytes +=
        (uint64_t{dispatch.dynamic_bytes[i]} + kAlignDynamic - 1) / kAlignDynamic * kAlignDynamic;
    if (job->dynamic_bytes > kMostDynamicBytes) return false;
  }
  return dispatch.entry && dispatch.style <= kThreads && dispatch.workers >= 1;
}

bool fits_stack(const Dispatch& dispatch) {
  const bool lanes = dispatch.style == kSimdgroups;
  return dispatch.stack_bytes <= (lanes ? kMostSimdgroupStack : kMostThreadStack);
}

void cut(const Dispatch& dispatch, Job* job) {
  job->batch = 1;
  if (dispatch.style == kBoxes) {
    job->pieces.cut_boxes(job->launch, dispatch.workers);
    return;
  }
  job->pieces.cut_groups(job->launch);
  if (dispatch.style != kThreads) {
    const uint64_t fair = job->pieces.count() / (uint64_t{dispatch.workers} * 8);
    const uint64_t batch = kBatchThreads / job->pieces.piece_threads();
    job->batch = batch < fair ? batch : fair;
    if (job->batch == 0) job->batch = 1;
  }
}

void run(Worker* worker, Job* job, double time_limit_s) {
  ensure_stop_handlers(worker->is_main);
  ensure_fault_handlers();
  job->deadline_ns = 0;
  if (time_limit_s > 0) {
    const double most = 1e9;  // seconds
    const double seconds = time_limit_s < most ? time_limit_s : most;
    const uint64_t limit_ns = static_cast<uint64_t>(seconds * 1e9) + 1;
    job->deadline_ns = now_ns() + limit_ns;
    worker->job.store(job);
    arm_timer(worker, limit_ns);
  }
  if (worker->is_main) tell_main_launches(true);
  start_recruiting(job);
  participate(worker, job);
  finish_recruiting(job);
  if (worker->is_main) tell_main_launches(false);
  if (job->recruiting.opened) close_pool();
  // In this order: a timer that fires in between finds no job.
  worker->job.store(nullptr);
  disarm_timer(worker);
}

}  // namespace

}  // namespace openmps

int openmps_launch(const openmps::Dispatch* dispatch) {
  using namespace openmps;
  Worker* worker = this_worker();
  if (!worker) return kOutOfMemory;
  Report* report = &worker->report;
  *report = {};
  report->style = dispatch->style;
  Job job;
  job.dispatch = dispatch;
  job.report = report;
  job.launcher = worker;
  if (!describe_launch(*dispatch, &job)) return static_cast<int>(report->code = kInvalidDispatch);
  if (!fits_stack(*dispatch)) return static_cast<int>(report->code = kStackOverflow);
  if (!dispatch->grid[0] || !dispatch->grid[1] || !dispatch->grid[2]) return kFine;
  cut(*dispatch, &job);
  run(worker, &job, dispatch->time_limit_s);
  report->code = job.stop.load();
  report->padded_pages = job.padding.remove();
  report->workers = job.participants.load();
  const uint32_t code = report->code;
  if (code == kMemoryFault || code == kArithmeticFault || code == kIllegalInstruction) {
    locate_fault(worker, job);
  }
  return static_cast<int>(report->code);
}

const openmps::Report* openmps_last_report() {
  static const openmps::Report none = {};
  return openmps::current_worker ? &openmps::current_worker->report : &none;
}
