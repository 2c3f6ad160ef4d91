#include "profiler/end.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include <c10/util/Exception.h>

namespace openmps::profiler {
namespace {

void (*g_print)() = nullptr;
sem_t g_interrupted;
struct sigaction g_before;  // what SIGINT did without us
pid_t g_process = 0;

void print_once() {
  static auto* mutex = new std::mutex();  // exit waits for a Ctrl-C's printing
  static bool printed = false;
  const std::lock_guard<std::mutex> lock(*mutex);
  if (printed) return;
  printed = true;
  g_print();
}

void end_by_signal() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGINT, &action, nullptr);
  kill(getpid(), SIGINT);
}

// Natively the handler itself prints, which hangs where the signal came in the middle of an
// allocation. Here it wakes a thread.
void on_profiled_interrupt(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool has_thread = getpid() == g_process;  // a forked child has not
  if (has_thread) sem_post(&g_interrupted);
  if (g_before.sa_flags & SA_SIGINFO) {
    g_before.sa_sigaction(signal, info, context);
  } else if (g_before.sa_handler == SIG_DFL) {
    if (!has_thread) end_by_signal();
  } else if (g_before.sa_handler != SIG_IGN) {
    g_before.sa_handler(signal);
  }
  errno = saved;
}

void print_when_interrupted() {
  while (sem_wait(&g_interrupted) != 0) {
  }
  print_once();
  const bool ends = !(g_before.sa_flags & SA_SIGINFO) && g_before.sa_handler == SIG_DFL;
  if (ends) end_by_signal();
}

bool start_thread() {
  sigset_t all;
  sigset_t present;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &present);  // the thread takes no signals from the others
  bool started = true;
  try {
    std::thread(print_when_interrupted).detach();
  } catch (const std::system_error&) {  // ulimit -u, ulimit -v
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &present, nullptr);
  return started;
}

}  // namespace

void call_at_end(void (*print)()) {
  g_print = print;
  g_process = getpid();
  sem_init(&g_interrupted, 0, 0);
  std::atexit(print_once);
  if (!start_thread()) return;  // interrupts end the process as before, and print nothing
  struct sigaction ours = {};
  sigaction(SIGINT, nullptr, &g_before);
  ours.sa_sigaction = on_profiled_interrupt;
  // SA_RESTART as before: Python wants system calls to end when Ctrl-C arrives.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (g_before.sa_flags & SA_RESTART);
  sigfillset(&ours.sa_mask);
  TORCH_CHECK(sigaction(SIGINT, &ours, nullptr) == 0,
              "Cannot install SIGINT handler for MPSProfiler.");
}

}  // namespace openmps::profiler
