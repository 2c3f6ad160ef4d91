// For thread-local variables that every operator reads.
#pragma once

#if defined(__x86_64__)
// One load instead of a call.
#define OPENMPS_FAST_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
#else
// On arm64 the ordinary way is nearly as fast, and takes the memory that is set aside for
// initial-exec only while there is some: torch's libraries leave less than the core would need.
#define OPENMPS_FAST_THREAD_LOCAL thread_local
#endif
