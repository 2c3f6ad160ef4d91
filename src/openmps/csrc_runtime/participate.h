// What the launching thread and each helping one do in a launch: take pieces and run them.
#pragma once

namespace openmps {

struct Job;
struct Worker;
struct Block;

// Takes pieces, in increasing order, until there are none or the job is stopped.
void participate(Worker* worker, Job* job);

// Makes the threads of `block` the worker's threadgroup, at the worker's position.
void describe_group(Worker* worker, const Block& block);

}  // namespace openmps
