#include "faults.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>

#include "handlers.h"
#include "job.h"
#include "local_arrays.h"
#include "stop.h"
#include "worker.h"

namespace openmps {

namespace {

// The runtime's own functions, which do not probe, may reach this far below the stack pointer.
constexpr uintptr_t kFrame = 64 << 10;

// Too many local arrays, by recursion, and not an index that left one.
bool is_array_overflow(const Worker& worker, uintptr_t address) {
  const uintptr_t frame = reinterpret_cast<uintptr_t>(local_arrays());
  const auto both = [=](const Stacks& arrays) {
    return arrays.is_guard(address) && arrays.is_guard(frame);
  };
  return both(worker.own_arrays) || both(worker.simdgroups.arrays) || both(worker.threads.arrays);
}

bool is_stack_overflow(const Worker& worker, uintptr_t address, uintptr_t sp) {
  if (worker.simdgroups.stacks.is_guard(address)) return true;
  if (worker.threads.stacks.is_guard(address)) return true;
  if (worker.own_stack.is_guard(address)) return true;
  if (is_array_overflow(worker, address)) return true;
  // What is mapped below the stack pointer does not fault.
  return address < sp + 4096 && address + kFrame >= sp;
}

uint32_t classify(int signal, const Worker& worker, uintptr_t address, const void* context) {
  if (signal == SIGFPE) return kArithmeticFault;
  if (signal == SIGILL || signal == SIGTRAP) return kIllegalInstruction;
  const uintptr_t sp = stack_pointer(context);
  return address && is_stack_overflow(worker, address, sp) ? kStackOverflow : kMemoryFault;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  Worker* worker = current_worker;
  Job* job = worker ? worker->job.load(std::memory_order_relaxed) : nullptr;
  const bool ours = job && worker->in_kernel.load(std::memory_order_relaxed) && info->si_code > 0;
  if (!ours) {
    errno = saved;
    chain(signal, info, context);
    return;
  }
  // x86 does not say which address was neither aligned nor canonical.
  const bool by_memory = signal == SIGSEGV || signal == SIGBUS;
  const bool known = by_memory && info->si_code != SI_KERNEL;
  const uintptr_t address = known ? reinterpret_cast<uintptr_t>(info->si_addr) : 0;
  const uint32_t code = classify(signal, *worker, address, context);
  const bool padded = code == kMemoryFault && signal == SIGSEGV && address &&
                      job->padding.provide(*job->dispatch, address);
  if (!padded) {
    stop_job(job, code, *worker, address);
    leave_kernel(worker, context);
  }
  errno = saved;
}

}  // namespace

void ensure_fault_handlers() {
  // Whoever takes one of these takes them all (faulthandler does), so one look is enough.
  if (!ensure_handler(SIGSEGV, on_fault)) return;
  ensure_handler(SIGBUS, on_fault);
  ensure_handler(SIGFPE, on_fault);
  ensure_handler(SIGILL, on_fault);
#if defined(__aarch64__)
  ensure_handler(SIGTRAP, on_fault);  // what compilers write for __builtin_trap()
#endif
}

}  // namespace openmps
