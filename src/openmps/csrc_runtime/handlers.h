// Sharing signals with the rest of the process: our handlers go in front of whatever is installed,
// and what is not ours goes on to it. Also the two registers of a signal's context that we touch.
#pragma once

#include <signal.h>
#include <stdint.h>

namespace openmps {

using Handler = void(int, siginfo_t*, void*);

// Installs `handler` for `signal` unless it is there already. Looks with one system call. Signals
// that are ignored or end the process by default are left alone unless they are faults. True: it
// had to be installed.
bool ensure_handler(int signal, Handler* handler);

// In a child process: the thread that was installing a handler is not there to finish.
void forget_installing();

// Does what would have been done without us. For handlers.
void chain(int signal, siginfo_t* info, void* context);

uintptr_t program_counter(const void* context);
uintptr_t stack_pointer(const void* context);
void continue_at(void* context, uintptr_t pc, uintptr_t sp);

}  // namespace openmps
