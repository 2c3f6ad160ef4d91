// Faults in kernel code (SIGSEGV, SIGBUS, SIGFPE, SIGILL; SIGTRAP on arm64) end the launch, not the
// process.
#pragma once

namespace openmps {

// The handlers are in place after this, in front of any that were installed since.
void ensure_fault_handlers();

}  // namespace openmps
