// Which thread of a piece faulted, and where, found by running less and less of it again.
#pragma once

namespace openmps {

struct Job;
struct Worker;

// Writes what it finds into the job's report. What the kernel wrote before it failed stays as it
// was.
void locate_fault(Worker* worker, const Job& failed);

}  // namespace openmps
