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

// Nanoseconds per thread in the last launch of a kernel, by its entry. Two kernels that share a
// slot only disturb each other's guess.
constexpr unsigned kSlots = 256;
std::atomic<float> last_cost[kSlots];

std::atomic<float>& slot_of(const Job& job) {
  const uint64_t key = reinterpret_cast<uint64_t>(job.dispatch->entry) * 0x9e3779b97f4a7c15;
  return last_cost[key >> 56];
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
  Recruiting& state = job->recruiting;
  const uint64_t before_ns = now_ns();
  state.opened = open_pool(job, static_cast<unsigned>(seats < 1 ? 1 : seats));
  state.possible = false;
  // No part of the kernel's cost: whoever is woken may get this very core first.
  state.begin_ns += now_ns() - before_ns;
}

}  // namespace

void start_recruiting(Job* job) {
  Recruiting& state = job->recruiting;
  state.begin_ns = now_ns();
  state.possible = job->dispatch->workers > 1 && job->pieces.count() > 1;
  if (!state.possible) return;
  float cost = slot_of(*job).load(std::memory_order_relaxed);
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
  if (job->dispatch->workers <= 1 || job->stop.load() != kFine) return;
  const double elapsed = static_cast<double>(now_ns() - state.begin_ns);
  double threads = static_cast<double>(job->pieces.threads());
  // If the others left nothing to do, they took no longer than this for all of it. To learn nothing
  // would be to wake them for ever.
  if (state.pieces_done > 0) {
    threads *= static_cast<double>(state.pieces_done) / static_cast<double>(job->pieces.count());
  }
  slot_of(*job).store(static_cast<float>(elapsed / threads), std::memory_order_relaxed);
}

}  // namespace openmps
