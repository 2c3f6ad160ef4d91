// When a launch is worth waking other threads: a rule that looks at how long its kernel took before
// and at how long it has been running now.
#pragma once

#include <stdint.h>

namespace openmps {

struct Job;
struct Worker;

// Belongs to the launching thread alone.
struct Recruiting {
  bool possible = false;  // more than one worker allowed, more than one piece
  bool opened = false;    // the pool works for this job
  uint64_t begin_ns = 0;
  uint64_t look_at = 1;      // pieces done at which to look at the clock next
  uint64_t pieces_done = 0;  // by the launching thread
};

// Before the first piece.
void start_recruiting(Job* job);
// After each batch of the launching thread, in kernel code.
void consider_recruiting(Job* job, Worker* worker, uint64_t pieces_done);
// After the launching thread's last piece.
void finish_recruiting(Job* job);

}  // namespace openmps
