// The OS threads that help with large launches. Made when first needed, never more than one launch
// at a time, gone in a child process (which makes its own).
#pragma once

namespace openmps {

struct Job;
struct Worker;

// Wakes up to `seats` threads to take part in `job`. False: another launch has the pool.
bool open_pool(Job* job, unsigned seats);
// Nobody joins any more; returns when all who did have left.
void close_pool();

// Sends `signal` to everyone in `job` but one. For signal handlers.
void signal_workers(const Job* job, const Worker* but, int signal);

}  // namespace openmps
