// The built-in values of a kernel: where a thread is, by Metal's names, and as the type that the
// kernel's parameter has.
#pragma once

#include "../types/vector.h"

namespace msl {

namespace openmps_slot {
enum : int {
  threadgroup = 100,  // + n: [[threadgroup(n)]]
  constant = 200,     // + n: [[buffer(n)]] in the constant address space, where that matters

  thread_position_in_grid = -1,
  thread_position_in_threadgroup = -2,
  threadgroup_position_in_grid = -3,
  threads_per_threadgroup = -4,
  threads_per_grid = -5,
  threadgroups_per_grid = -6,
  thread_index_in_threadgroup = -7,
  thread_index_in_simdgroup = -8,
  simdgroup_index_in_threadgroup = -9,
  threads_per_simdgroup = -10,
  simdgroups_per_threadgroup = -11,
  dispatch_threads_per_threadgroup = -12,
  dispatch_simdgroups_per_threadgroup = -13,
  thread_index_in_quadgroup = -14,
  quadgroup_index_in_threadgroup = -15,
  quadgroups_per_threadgroup = -16,
  dispatch_quadgroups_per_threadgroup = -17,
  thread_execution_width = -18,
  grid_origin = -19,
  grid_size = -20,
};
}  // namespace openmps_slot

namespace openmps_entry {

struct Triple {
  unsigned x, y, z;
};
OPENMPS_INLINE Triple triple(const unsigned (&v)[3]) { return {v[0], v[1], v[2]}; }

// Where a thread is. Fields that a kernel does not ask for cost nothing once this is inlined.
struct Thread {
  Triple grid_position, group_position, group_shape, position, grid, group, groups;
  unsigned index, lane, simdgroup;
};

OPENMPS_INLINE unsigned count(const Triple& t) { return t.x * t.y * t.z; }
OPENMPS_INLINE unsigned round_up(unsigned threads, unsigned width) {
  return (threads + width - 1) / width;
}

// A built-in value as the type of the kernel's parameter.
template <class P>
OPENMPS_INLINE P as_parameter(unsigned value) {
  return P(static_cast<typename openmps_detail::shape<P>::element>(value));
}
template <class P>
OPENMPS_INLINE P as_parameter(const Triple& value) {
  constexpr int size = openmps_detail::shape<P>::size;
  static_assert(size <= 3, "a position has at most three coordinates");
  using E = typename openmps_detail::shape<P>::element;
  if constexpr (size == 1) {
    return P(static_cast<E>(value.x));
  } else if constexpr (size == 2) {
    return P(static_cast<E>(value.x), static_cast<E>(value.y));
  } else {
    return P(static_cast<E>(value.x), static_cast<E>(value.y), static_cast<E>(value.z));
  }
}

template <int Slot>
OPENMPS_INLINE auto builtin(const Thread& t) {
  using namespace openmps_slot;
  if constexpr (Slot == thread_position_in_grid) return t.grid_position;
  if constexpr (Slot == thread_position_in_threadgroup) return t.position;
  if constexpr (Slot == threadgroup_position_in_grid) return t.group_position;
  if constexpr (Slot == threads_per_threadgroup) return t.group_shape;
  if constexpr (Slot == dispatch_threads_per_threadgroup) return t.group;
  if constexpr (Slot == threads_per_grid || Slot == grid_size) return t.grid;
  if constexpr (Slot == threadgroups_per_grid) return t.groups;
  if constexpr (Slot == grid_origin) return Triple{0, 0, 0};
  if constexpr (Slot == thread_index_in_threadgroup) return t.index;
  if constexpr (Slot == thread_index_in_simdgroup) return t.lane;
  if constexpr (Slot == simdgroup_index_in_threadgroup) return t.simdgroup;
  if constexpr (Slot == simdgroups_per_threadgroup) return round_up(count(t.group_shape), 32);
  if constexpr (Slot == dispatch_simdgroups_per_threadgroup) return round_up(count(t.group), 32);
  if constexpr (Slot == threads_per_simdgroup || Slot == thread_execution_width) return 32u;
  if constexpr (Slot == thread_index_in_quadgroup) return t.index % 4u;
  if constexpr (Slot == quadgroup_index_in_threadgroup) return t.index / 4u;
  if constexpr (Slot == quadgroups_per_threadgroup) return round_up(count(t.group_shape), 4);
  if constexpr (Slot == dispatch_quadgroups_per_threadgroup) return round_up(count(t.group), 4);
}

}  // namespace openmps_entry
}  // namespace msl
