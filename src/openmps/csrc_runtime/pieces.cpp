#include "pieces.h"

namespace openmps {

namespace {

// A box costs about 20 ns to hand out; its threads should cost some hundred times that.
constexpr uint64_t kFewest = 4096;
// Large boxes would leave the last worker alone for long.
constexpr uint64_t kMost = 1 << 18;
constexpr uint64_t kBoxesPerWorker = 8;
// x ranges begin at a multiple of this, so that vector loops run without a rest but at the end.
constexpr uint64_t kAlign = 256;

uint64_t divide_up(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

uint64_t at_most(uint64_t value, uint64_t most) { return value < most ? value : most; }

}  // namespace

void Pieces::cut(const Launch& launch, const uint64_t size[3]) {
  count_ = threads_ = piece_threads_ = 1;
  for (int axis = 0; axis < 3; ++axis) {
    grid_[axis] = launch.grid[axis];
    size_[axis] = size[axis];
    per_axis_[axis] = divide_up(grid_[axis], size[axis]);
    // The caller has checked that the product of the grid fits.
    count_ *= per_axis_[axis];
    threads_ *= grid_[axis];
    piece_threads_ *= at_most(size[axis], grid_[axis]);
  }
}

void Pieces::cut_groups(const Launch& launch) {
  const uint64_t size[3] = {launch.group[0], launch.group[1], launch.group[2]};
  cut(launch, size);
}

void Pieces::cut_boxes(const Launch& launch, unsigned workers) {
  const uint64_t x = launch.grid[0], y = launch.grid[1], z = launch.grid[2];
  uint64_t want = x * y * z / (kBoxesPerWorker * workers);
  want = want < kFewest ? kFewest : at_most(want, kMost);
  uint64_t size[3] = {x, 1, 1};
  if (x > want) {
    size[0] = divide_up(want, kAlign) * kAlign;
  } else if (x * y > want) {
    size[1] = divide_up(want, x);
  } else {
    size[1] = y;
    size[2] = at_most(divide_up(want, x * y), z);
  }
  cut(launch, size);
}

}  // namespace openmps
