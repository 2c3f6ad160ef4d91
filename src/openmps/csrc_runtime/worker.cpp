#include "worker.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "handlers.h"
#include "isolated.h"
#include "job.h"
#include "local_arrays.h"
#include "stop.h"
#include "thread_style.h"

__thread char* __safestack_unsafe_stack_ptr = nullptr;

namespace openmps {

__thread Worker* current_worker __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

// Room for a signal frame with AVX-512 and AMX state (11 KiB) and for handlers we chain to.
constexpr size_t kAlternateStack = 64 << 10;

pthread_key_t worker_key;
pthread_once_t worker_once = PTHREAD_ONCE_INIT;

void destroy(void* worker) {
  current_worker = nullptr;
  delete static_cast<Worker*>(worker);
}

// In a child process there is one thread, with a new id and no timers.
void identify(Worker* worker) {
  worker->thread = pthread_self();
  worker->thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  worker->is_main = worker->thread_id == getpid();
  worker->timer = -1;
  worker->timer_armed = false;
}

void identify_again() {
  forget_installing();
  if (current_worker) identify(current_worker);
}

void set_up_workers() {
  pthread_key_create(&worker_key, destroy);
  pthread_atfork(nullptr, nullptr, identify_again);
}

bool use_alternate_stack(Worker* worker) {
  stack_t present;
  if (sigaltstack(nullptr, &present) != 0) return false;
  if (!(present.ss_flags & SS_DISABLE) && present.ss_size >= kAlternateStack) return true;
  void* memory =
      mmap(nullptr, kAlternateStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  stack_t wanted = {};
  wanted.ss_sp = memory;
  wanted.ss_size = kAlternateStack;
  if (sigaltstack(&wanted, nullptr) != 0) {
    munmap(memory, kAlternateStack);
    return false;
  }
  worker->alternate_stack = static_cast<char*>(memory);
  return true;
}

}  // namespace

Worker* this_worker() {
  if (current_worker) return current_worker;
  pthread_once(&worker_once, set_up_workers);
  Worker* worker = new (std::nothrow) Worker;
  if (!worker) return nullptr;
  identify(worker);
  if (!use_alternate_stack(worker) || pthread_setspecific(worker_key, worker) != 0) {
    delete worker;
    return nullptr;
  }
  current_worker = worker;
  return worker;
}

bool Worker::provide(Stacks* stacks, unsigned count, uint32_t bytes) {
  const Stacks::Provided provided = stacks->provide(count, bytes);
  if (provided != Stacks::kAsBefore) forget_fibres();
  return provided != Stacks::kNoMemory;
}

bool Worker::prepare(const Job& next) {
  const uint32_t style = next.dispatch->style;
  const uint32_t bytes = next.dispatch->stack_bytes;
  const unsigned piece = static_cast<unsigned>(next.pieces.piece_threads());
  if (style == kSimdgroups && (piece > kSimdWidth || bytes > kSmallStack)) {
    const unsigned count = (piece + kSimdWidth - 1) / kSimdWidth;
    if (!provide(&simdgroups.stacks, count, bytes)) return false;
    if (!provide(&simdgroups.arrays, count, bytes)) return false;
  }
  if (style == kThreads) {
    if (!threads.simdgroups) threads.simdgroups = new_simdgroups();
    if (!threads.simdgroups || !provide(&threads.stacks, piece, bytes)) return false;
    if (!provide(&threads.arrays, piece, bytes)) return false;
  }
  if (next.dynamic_bytes > dynamic_bytes) {
    give_back_dynamic();
    dynamic = map_isolated(next.dynamic_bytes);
    if (!dynamic) return false;
    dynamic_bytes = next.dynamic_bytes;
  }
  return provide_alone(bytes);
}

bool Worker::provide_alone(uint32_t bytes) {
  if (own_stack.provide(1, bytes) == Stacks::kNoMemory) return false;
  if (own_arrays.provide(1, bytes) == Stacks::kNoMemory) return false;
  local_arrays() = own_arrays.top(0);
  return true;
}

void Worker::give_back_dynamic() {
  if (dynamic) unmap_isolated(dynamic, dynamic_bytes);
  dynamic = nullptr;
  dynamic_bytes = 0;
}

Worker::~Worker() {
  delete_timer(this);
  give_back_dynamic();
  delete_simdgroups(threads.simdgroups);
  if (alternate_stack) {
    stack_t present;
    if (sigaltstack(nullptr, &present) == 0 && present.ss_sp == alternate_stack) {
      stack_t none = {};
      none.ss_flags = SS_DISABLE;
      sigaltstack(&none, nullptr);
    }
    munmap(alternate_stack, kAlternateStack);
  }
}

}  // namespace openmps
