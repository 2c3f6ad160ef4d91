#include "pool.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>

#include "job.h"
#include "participate.h"
#include "stop.h"
#include "worker.h"

namespace openmps {

namespace {

constexpr unsigned kMostThreadsInPool = 512;

// `crowd`: whether a job is open, the seats left, and how many are inside, in one word, so that
// nobody can join after the launching thread has seen it empty.
constexpr uint32_t kInside = 0xffff;
constexpr uint32_t kSeat = 1 << 16;
constexpr uint32_t kSeats = 0x7fff0000;
constexpr uint32_t kOpen = 0x80000000;
std::atomic<uint32_t> crowd{0};
std::atomic<uint32_t> bell{0};  // rung for each job
std::atomic<bool> taken{false};
std::atomic<Job*> job_now{nullptr};

// Never freed: threads may still sleep here when the process ends.
std::atomic<Worker*> members[kMostThreadsInPool];
unsigned started = 0;  // guarded by `taken`

void futex_wait(std::atomic<uint32_t>* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

bool join() {
  uint32_t seen = crowd.load(std::memory_order_relaxed);
  do {
    if (!(seen & kOpen) || !(seen & kSeats)) return false;
  } while (!crowd.compare_exchange_weak(seen, seen - kSeat + 1));
  return true;
}

void leave() {
  const uint32_t left = crowd.fetch_sub(1) - 1;
  if (!(left & (kOpen | kInside))) futex_wake(&crowd, 1);
}

// Work for the process arrives at its own threads; these here take faults and the stop signal only.
void block_signals(sigset_t* before) {
  sigset_t all;
  sigfillset(&all);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    sigdelset(&all, signal);
  }
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) sigdelset(&all, signal);
  pthread_sigmask(SIG_SETMASK, &all, before);
}

void* serve(void* number) {
  Worker* worker = this_worker();
  if (!worker) return nullptr;
  members[reinterpret_cast<uintptr_t>(number)].store(worker);
  for (;;) {
    const uint32_t heard = bell.load();
    if (join()) {
      Job* job = job_now.load();
      job->participants.fetch_add(1, std::memory_order_relaxed);
      participate(worker, job);
      leave();
    } else {
      futex_wait(&bell, heard);
    }
  }
}

void start_threads(unsigned wanted) {
  if (wanted > kMostThreadsInPool) wanted = kMostThreadsInPool;
  if (started >= wanted) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 8 << 20);
  sigset_t before;
  block_signals(&before);
  for (; started < wanted; ++started) {
    pthread_t thread;
    void* number = reinterpret_cast<void*>(uintptr_t{started});
    if (pthread_create(&thread, &attributes, serve, number) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

// A child process has none of the threads, and nobody who would give the pool back.
void forget_threads() {
  for (std::atomic<Worker*>& member : members) member.store(nullptr);
  started = 0;
  crowd.store(0);
  taken.store(false);
}

pthread_once_t pool_once = PTHREAD_ONCE_INIT;

void set_up_pool() { pthread_atfork(nullptr, nullptr, forget_threads); }

}  // namespace

bool open_pool(Job* job, unsigned seats) {
  if (taken.exchange(true)) return false;
  pthread_once(&pool_once, set_up_pool);
  start_threads(seats);
  if (seats > started) seats = started;
  job_now.store(job);
  crowd.store(kOpen | (seats * kSeat));
  bell.fetch_add(1);
  futex_wake(&bell, static_cast<int>(seats));
  return true;
}

void close_pool() {
  uint32_t seen = crowd.fetch_and(~(kOpen | kSeats)) & kInside;
  // The others are in their last pieces: a short look often saves two system calls.
  for (int i = 0; i < 500 && seen; ++i) {
    relax();
    seen = crowd.load();
  }
  while (seen) {
    futex_wait(&crowd, seen);
    seen = crowd.load();
  }
  job_now.store(nullptr);
  taken.store(false);
}

void signal_workers(const Job* job, const Worker* but, int signal) {
  const int saved = errno;
  if (job->launcher != but) pthread_kill(job->launcher->thread, signal);
  for (std::atomic<Worker*>& member : members) {
    Worker* worker = member.load();
    if (worker && worker != but && worker->job.load() == job) pthread_kill(worker->thread, signal);
  }
  errno = saved;
}

}  // namespace openmps
