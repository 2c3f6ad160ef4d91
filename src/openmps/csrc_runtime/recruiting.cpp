#include "recruiting.h"

#include <atomic>

#include "job.h"
#include "pool.h"
#include "stop.h"
#include "worker.h"

namespace openmps {

namespace {

// A woken thread begins 3 to 9 us later on an idle machine and 150 us later on a busy one, and the
// waker pays some microseconds. So much work pays for it; each further worker should have as much.
constexpr double kWorthNs = 40'000;

// Nanoseconds per thread in a kernel's last two launches, by its entry. The smaller one counts: one
// that the machine interrupted says nothing, and help that comes late would make the next look
// large, too. Two kernels that share a slot only disturb each other's guess.
struct Costs {
  std::atomic<float> last;
  std::atomic<float> before;

  float guess() const {
    const float first = last.load(std::memory_order_relaxed);
    const float second = before.load(std::memory_order_relaxed);
    return second == 0 || first < second ? first : second;
  }
  void add(float cost) {
    before.store(last.load(std::memory_order_relaxed), std::memory_order_relaxed);
    last.store(cost, std::memory_order_relaxed);
  }
};
constexpr unsigned kSlots = 256;
Costs costs[kSlots];

Costs& costs_of(const Job& job) {
  const uint64_t key = reinterpret_cast<uint64_t>(job.dispatch->entry) * 0x9e3779b97f4a7c15;
  return costs[key >> 56];
}

// For a kernel that never ran.
float first_guess(uint32_t style) {
  if (style == kThreads) return 300;
  return style == kSimdgroups ? 4 : 1;
}

void recruit(Job* job, double estimated_ns) {
  const uint64_t pieces = job->pieces.count();
  double seats = estimated_ns / kWorthNs;
  if (seats > job->dispatch->workers - 1) seats = job->dispatch->workers - 1;
  if (seats > static_cast<double>(pieces - 1)) seats = static_cast<double>(pieces - 1);
  job->recruiting.opened = open_pool(job, static_cast<unsigned>(seats < 1 ? 1 : seats));
  job->recruiting.possible = false;
}

}  // namespace

void start_recruiting(Job* job) {
  Recruiting& state = job->recruiting;
  state.begin_ns = now_ns();
  state.possible = job->dispatch->workers > 1 && job->pieces.count() > 1;
  if (!state.possible) return;
  float cost = costs_of(*job).guess();
  if (cost == 0) cost = first_guess(job->dispatch->style);
  const double estimated_ns = static_cast<double>(job->pieces.threads()) * cost;
  if (estimated_ns > kWorthNs) recruit(job, estimated_ns);
}

void consider_recruiting(Job* job, Worker* worker, uint64_t pieces_done) {
  Recruiting& state = job->recruiting;
  state.pieces_done += pieces_done;
  if (!state.possible || state.pieces_done < state.look_at) return;
  state.look_at = state.pieces_done * 2;
  const double elapsed = static_cast<double>(now_ns() - state.begin_ns);
  const uint64_t left = job->pieces.count() - state.pieces_done;
  const double rest = elapsed / static_cast<double>(state.pieces_done) * static_cast<double>(left);
  if (elapsed < kWorthNs / 8 || rest < kWorthNs) return;
  // Waking threads is no kernel code: a signal must not cut it short.
  worker->in_kernel.store(false);
  recruit(job, rest);
  worker->in_kernel.store(true);
}

void finish_recruiting(Job* job) {
  const Recruiting& state = job->recruiting;
  if (job->dispatch->workers <= 1 || state.pieces_done == 0 || job->stop.load() != kFine) return;
  const double elapsed = static_cast<double>(now_ns() - state.begin_ns);
  const double threads = static_cast<double>(job->pieces.threads()) /
                         static_cast<double>(job->pieces.count()) *
                         static_cast<double>(state.pieces_done);
  costs_of(*job).add(static_cast<float>(elapsed / threads));
}

}  // namespace openmps
