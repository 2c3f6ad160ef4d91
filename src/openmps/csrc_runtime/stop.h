// Ending a launch early: the stop signal, timers for time limits, and Ctrl-C.
#pragma once

#include <signal.h>
#include <stdint.h>

namespace openmps {

struct Job;
struct Worker;

uint64_t now_ns();

// The stop signal's handler and Ctrl-C's are in place after this, even if someone has replaced them
// since. Cheap when they are.
void ensure_stop_handlers(bool is_main);

// While the main thread runs a kernel, Ctrl-C is its business, whichever thread it reaches.
void tell_main_launches(bool launches);

// Tells everybody in `job` to leave, for this reason, unless another one came first. True: it is
// the first. Safe in signal handlers.
bool stop_job(Job* job, uint32_t code, const Worker& where, uint64_t address);

// Makes the interrupted thread continue at its way out once the handler returns.
void leave_kernel(Worker* worker, void* context);

// The time limit of the worker's job.
void arm_timer(Worker* worker, uint64_t first_ns);
void disarm_timer(Worker* worker);
void delete_timer(Worker* worker);

}  // namespace openmps
