// SIGSEGV, SIGBUS, SIGFPE and SIGILL in kernel code end the launch, not the process.
#pragma once

namespace openmps {

// The handlers are in place after this, in front of any that were installed since.
void ensure_fault_handlers();

}  // namespace openmps
