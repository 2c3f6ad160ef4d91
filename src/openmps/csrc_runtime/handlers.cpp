#include "handlers.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

namespace openmps {

namespace {

constexpr int kSignals = 32;  // those before the real-time ones

// Written while `installing`; a handler that reads one while it is replaced reads the older of two.
struct sigaction previous[kSignals][2];
std::atomic<int> newest[kSignals];
std::atomic<bool> forwarded[kSignals];
std::atomic_flag installing = ATOMIC_FLAG_INIT;

bool is_fault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGTRAP;
}

void take_default(int signal, const siginfo_t* info) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  // A faulting instruction runs again when the handler returns; a sent signal has to be sent again.
  const pid_t thread = static_cast<pid_t>(syscall(SYS_gettid));
  if (info->si_code <= 0) syscall(SYS_tgkill, getpid(), thread, signal);
}

}  // namespace

bool ensure_handler(int signal, Handler* handler) {
  struct sigaction present;
  if (sigaction(signal, nullptr, &present) != 0) return false;
  if ((present.sa_flags & SA_SIGINFO) && present.sa_sigaction == handler) return false;
  const bool plain = present.sa_handler == SIG_DFL || present.sa_handler == SIG_IGN;
  if (plain && !is_fault(signal)) return false;

  while (installing.test_and_set(std::memory_order_acquire)) {
  }
  bool changed = false;
  // Another thread may have been faster.
  sigaction(signal, nullptr, &present);
  if (!(present.sa_flags & SA_SIGINFO) || present.sa_sigaction != handler) {
    const int slot = 1 - newest[signal].load();
    previous[signal][slot] = present;
    newest[signal].store(slot);
    struct sigaction ours = {};
    ours.sa_sigaction = handler;
    // SA_RESTART as before: Python wants system calls to end when Ctrl-C arrives.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (present.sa_flags & SA_RESTART);
    sigfillset(&ours.sa_mask);
    changed = sigaction(signal, &ours, nullptr) == 0;
  }
  installing.clear(std::memory_order_release);
  return changed;
}

void forget_installing() { installing.clear(); }

void chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction& action = previous[signal][newest[signal].load()];
  // faulthandler prints, puts us back and sends the signal once more: do not go round for ever.
  const bool again = is_fault(signal) && info->si_code <= 0 && forwarded[signal].load();
  if (action.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (again || action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    take_default(signal, info);
    return;
  }
  forwarded[signal].store(true);
  if (action.sa_flags & SA_SIGINFO) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

#if defined(__x86_64__)

uintptr_t program_counter(const void* context) {
  return static_cast<uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
}

uintptr_t stack_pointer(const void* context) {
  return static_cast<uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
}

void continue_at(void* context, uintptr_t pc, uintptr_t sp) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RIP] = static_cast<greg_t>(pc);
  registers[REG_RSP] = static_cast<greg_t>(sp);
}

#else

// What kind of branch came last: where a page wants landing pads, `pc` need not be one.
constexpr uint64_t kBranchType = 3 << 10;

uintptr_t program_counter(const void* context) {
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
}

uintptr_t stack_pointer(const void* context) {
  return static_cast<const ucontext_t*>(context)->uc_mcontext.sp;
}

void continue_at(void* context, uintptr_t pc, uintptr_t sp) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
  registers.pc = pc;
  registers.sp = sp;
  registers.pstate &= ~kBranchType;
}

#endif

}  // namespace openmps
