// The moment to print what a process has done: when it ends, or at its first Ctrl-C.
#pragma once

namespace openmps::profiler {

// Calls `print` once, at exit or after SIGINT, whichever comes first. For one caller, once.
void call_at_end(void (*print)());

}  // namespace openmps::profiler
