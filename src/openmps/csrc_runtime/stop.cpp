#include "stop.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "handlers.h"
#include "job.h"
#include "pool.h"
#include "switch.h"
#include "worker.h"

namespace openmps {

namespace {

constexpr uint64_t kRetryNs = 1'000'000;

int stop_signal = 0;
std::atomic<bool> main_is_launching{false};

// Code that may own a lock of the process: the C library, its loader, the allocator. A kernel is in
// there for a moment only (the first touch of threadgroup memory allocates it).
struct Range {
  uintptr_t begin;
  uintptr_t end;
};
Range sensitive[3];

int find_range(struct dl_phdr_info* info, size_t, void* data) {
  Range* range = static_cast<Range*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_X)) continue;
    if (range->begin < begin || range->begin >= begin + header.p_memsz) continue;
    *range = {begin, begin + header.p_memsz};
    return 1;
  }
  return 0;
}

void find_sensitive_code() {
  const char* const names[3] = {"malloc", "__tls_get_addr", "mmap"};
  for (int i = 0; i < 3; ++i) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, names[i]));
    sensitive[i] = {address, 0};
    if (!address || !dl_iterate_phdr(find_range, &sensitive[i])) sensitive[i] = {0, 0};
  }
}

bool is_sensitive(const void* context) {
  const uintptr_t pc = program_counter(context);
  for (const Range& range : sensitive) {
    if (pc >= range.begin && pc < range.end) return true;
  }
  return false;
}

// Leaves the kernel if its job is to stop; later, if this is a bad moment.
void leave_if_stopped(Worker* worker, void* context) {
  Job* job = worker->job.load(std::memory_order_relaxed);
  if (!job || !worker->in_kernel.load(std::memory_order_relaxed)) return;
  if (job->stop.load(std::memory_order_relaxed) == kFine) return;
  if (is_sensitive(context)) {
    arm_timer(worker, kRetryNs);
  } else {
    leave_kernel(worker, context);
  }
}

void on_stop_signal(int, siginfo_t* info, void* context) {
  const int saved = errno;
  Worker* worker = current_worker;
  Job* job = worker ? worker->job.load(std::memory_order_relaxed) : nullptr;
  if (job) {
    const bool late = job->deadline_ns && now_ns() >= job->deadline_ns;
    if (late && info->si_code == SI_TIMER) stop_job(job, kTimeLimit, *worker, 0);
    leave_if_stopped(worker, context);
  }
  errno = saved;
}

void on_interrupt(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  Worker* worker = current_worker;
  // A thread that is in another handler takes no signal, and then any other thread gets it.
  const pid_t process = getpid();
  const bool is_main = syscall(SYS_gettid) == process;
  if (!is_main && main_is_launching.load()) {
    syscall(SYS_tgkill, process, process, signal);
    errno = saved;
    return;
  }
  Job* job = is_main && worker ? worker->job.load(std::memory_order_relaxed) : nullptr;
  if (job) stop_job(job, kInterrupted, *worker, 0);
  // Python's handler notes the signal; KeyboardInterrupt rises once openmps_launch has returned.
  chain(signal, info, context);
  if (job) leave_if_stopped(worker, context);
  errno = saved;
}

// Takes the signal if nobody has it.
bool take_stop_signal(int signal) {
  struct sigaction present;
  if (sigaction(signal, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) return false;
  struct sigaction ours = {};
  ours.sa_sigaction = on_stop_signal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&ours.sa_mask);
  return sigaction(signal, &ours, nullptr) == 0;
}

// A real-time signal that nobody uses.
void choose_stop_signal() {
  for (int signal = SIGRTMAX - 3; signal > SIGRTMIN; --signal) {
    if (!take_stop_signal(signal)) continue;
    stop_signal = signal;
    return;
  }
}

pthread_once_t stop_once = PTHREAD_ONCE_INIT;

void set_up_stopping() {
  find_sensitive_code();
  choose_stop_signal();
}

}  // namespace

uint64_t now_ns() {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void ensure_stop_handlers(bool is_main) {
  pthread_once(&stop_once, set_up_stopping);
  // Who puts back all handlers that Python knows of (Lightning's Trainer does) takes ours away, and
  // the signal would end the process.
  if (stop_signal) take_stop_signal(stop_signal);
  if (is_main) ensure_handler(SIGINT, on_interrupt);
}

void tell_main_launches(bool launches) { main_is_launching.store(launches); }

bool stop_job(Job* job, uint32_t code, const Worker& where, uint64_t address) {
  uint32_t none = kFine;
  if (!job->stop.compare_exchange_strong(none, code)) return false;
  Report* report = job->report;
  report->address = address;
  report->threadgroup_memory = reinterpret_cast<uint64_t>(where.dynamic);
  report->threadgroup_bytes = job->dynamic_bytes;
  const Pieces& pieces = job->pieces;
  Block block;
  pieces.measure(where.position, &block);
  for (int axis = 0; axis < 3; ++axis) {
    const bool boxes = job->dispatch->style == kBoxes;
    job->position[axis] = where.position[axis];
    report->position[axis] = boxes ? block.begin[axis] : where.position[axis];
  }
  if (job->dispatch->style == kThreads) {
    report->thread = where.threads.current;
    report->simdgroup = report->thread / kSimdWidth;
  } else if (job->dispatch->style == kSimdgroups) {
    report->simdgroup = where.simdgroups.current;
  }
  if (stop_signal) signal_workers(job, &where, stop_signal);
  return true;
}

void leave_kernel(Worker* worker, void* context) {
  worker->in_kernel.store(false, std::memory_order_relaxed);
  continue_at(context, reinterpret_cast<uintptr_t>(&openmps_left),
              reinterpret_cast<uintptr_t>(worker->way_out));
}

void arm_timer(Worker* worker, uint64_t first_ns) {
  if (!stop_signal) return;
  // System calls, not the C library's functions: those are not for signal handlers.
  if (worker->timer < 0) {
    struct sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = stop_signal;
    event._sigev_un._tid = worker->thread_id;
    int timer = -1;
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return;
    worker->timer = timer;
  }
  // Once: signals that come faster than a slow machine handles them would leave it no time.
  struct itimerspec times = {};
  times.it_value.tv_sec = static_cast<time_t>(first_ns / 1'000'000'000);
  times.it_value.tv_nsec = static_cast<long>(first_ns % 1'000'000'000);
  syscall(SYS_timer_settime, worker->timer, 0, &times, nullptr);
  worker->timer_armed = true;
}

void disarm_timer(Worker* worker) {
  if (!worker->timer_armed) return;
  worker->timer_armed = false;
  const struct itimerspec never = {};
  syscall(SYS_timer_settime, worker->timer, 0, &never, nullptr);
}

void delete_timer(Worker* worker) {
  if (worker->timer >= 0) syscall(SYS_timer_delete, worker->timer);
}

}  // namespace openmps
