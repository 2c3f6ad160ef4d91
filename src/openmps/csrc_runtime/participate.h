// What the launching thread and each helping one do in a launch: take pieces and run them.
#pragma once

namespace openmps {

struct Job;
struct Worker;

// Takes pieces, in increasing order, until there are none or the job is stopped.
void participate(Worker* worker, Job* job);

}  // namespace openmps
