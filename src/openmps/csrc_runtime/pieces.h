// Cuts a grid into the pieces that are handed out to OS threads, and numbers them.
#pragma once

#include <stdint.h>

#include "api.h"

namespace openmps {

class Pieces {
 public:
  // Threadgroups, or boxes of some thousand threads, several for each worker.
  void cut_groups(const Launch& launch);
  void cut_boxes(const Launch& launch, unsigned workers);

  uint64_t count() const { return count_; }
  uint64_t threads() const { return threads_; }
  // Threads of a whole piece.
  uint64_t piece_threads() const { return piece_threads_; }

  // Where piece `number` lies, in pieces. x runs fastest.
  void locate(uint64_t number, unsigned position[3]) const {
    const uint64_t row = number / per_axis_[0];
    position[0] = static_cast<unsigned>(number % per_axis_[0]);
    position[1] = static_cast<unsigned>(row % per_axis_[1]);
    position[2] = static_cast<unsigned>(row / per_axis_[1]);
  }
  // The one after it.
  void advance(unsigned position[3]) const {
    if (++position[0] < per_axis_[0]) return;
    position[0] = 0;
    if (++position[1] < per_axis_[1]) return;
    position[1] = 0;
    ++position[2];
  }
  // The threads of a piece.
  void measure(const unsigned position[3], Block* block) const {
    for (int axis = 0; axis < 3; ++axis) {
      const uint64_t begin = uint64_t{position[axis]} * size_[axis];
      const uint64_t end = begin + size_[axis];
      block->begin[axis] = static_cast<unsigned>(begin);
      block->end[axis] = static_cast<unsigned>(end < grid_[axis] ? end : grid_[axis]);
    }
  }

 private:
  void cut(const Launch& launch, const uint64_t size[3]);

  uint64_t grid_[3];
  uint64_t size_[3];
  uint64_t per_axis_[3];
  uint64_t count_;
  uint64_t threads_;
  uint64_t piece_threads_;
};

}  // namespace openmps
