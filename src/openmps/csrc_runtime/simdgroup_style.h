// Threadgroups of openmps_simdgroup kernels: one fibre per simdgroup.
#pragma once

namespace openmps {

struct Job;
struct Worker;

// Runs worker->group.
void run_simdgroups(Worker* worker, Job* job);

}  // namespace openmps
