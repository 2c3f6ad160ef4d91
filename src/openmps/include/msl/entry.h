// How a generated wrapper calls a kernel: OPENMPS_PLAIN_ENTRY(&msl::f<float>, slots...) or
// OPENMPS_THREAD_ENTRY(...), with a slot for each of the kernel's parameters that says where its
// value comes from: n for [[buffer(n)]], openmps_slot::threadgroup + n for [[threadgroup(n)]], or
// one of the names below, which are Metal's.
#pragma once

#include "launch.h"
#include "vector.h"

namespace msl {

namespace openmps_slot {
enum : int {
  threadgroup = 100,

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

using openmps::Block;
using openmps::Launch;
using openmps::Threadgroup;

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

// One argument: prepared once for all threads of the call, then asked for each thread.
template <class P, int Slot, bool IsBuiltin = (Slot < 0)>
struct Argument {
  OPENMPS_INLINE explicit Argument(const Launch*, const Threadgroup*) {}
  OPENMPS_INLINE P get(const Thread& thread) {
    return as_parameter<metal::remove_cv_t<P>>(builtin<Slot>(thread));
  }
};

template <int Slot>
OPENMPS_INLINE void* address(const Launch* launch, const Threadgroup* group) {
  if constexpr (Slot < openmps_slot::threadgroup) {
    return launch->buffers[Slot];
  } else {
    return group == nullptr
               ? nullptr
               : group->dynamic + launch->dynamic_offset[Slot - openmps_slot::threadgroup];
  }
}

template <class T, int Slot>
struct Argument<T*, Slot, false> {
  T* pointer;
  OPENMPS_INLINE explicit Argument(const Launch* launch, const Threadgroup* group)
      : pointer(static_cast<T*>(address<Slot>(launch, group))) {}
  OPENMPS_INLINE T* get(const Thread&) { return pointer; }
};

// `constant T&`: a copy, if small. Nothing can change it while the kernel runs, and the compiler
// sees that no store of the kernel does. What is not bound reads as zero.
template <class T>
inline constexpr bool is_copied = metal::is_const_v<T> && !metal::is_volatile_v<T> &&
                                  sizeof(T) <= 256 && __is_trivially_copyable(T);

inline constexpr unsigned char zeros[256] = {};

template <class T, int Slot>
struct Argument<T&, Slot, false> {
  struct Copy {
    alignas(T) unsigned char bytes[is_copied<T> ? sizeof(T) : 1];
  };
  void* pointer;
  Copy copy;
  OPENMPS_INLINE explicit Argument(const Launch* launch, const Threadgroup* group)
      : pointer(address<Slot>(launch, group)) {
    if constexpr (is_copied<T>) {
      // A choice and no branch: after one, compilers make two versions of the whole kernel.
      const void* source = pointer != nullptr ? pointer : zeros;
      __builtin_memcpy(copy.bytes, source, sizeof(T));
    }
  }
  OPENMPS_INLINE T& get(const Thread&) {
    if constexpr (is_copied<T>) {
      return *reinterpret_cast<T*>(copy.bytes);
    } else {
      return *static_cast<T*>(pointer);
    }
  }
};

// All arguments, one inside the next.
template <class... A>
struct Arguments {
  OPENMPS_INLINE explicit Arguments(const Launch*, const Threadgroup*) {}
  template <auto Kernel, class... Values>
  OPENMPS_INLINE void call(const Thread&, Values&&... values) {
    Kernel(static_cast<Values&&>(values)...);
  }
};
template <class First, class... Rest>
struct Arguments<First, Rest...> {
  First first;
  Arguments<Rest...> rest;
  OPENMPS_INLINE explicit Arguments(const Launch* launch, const Threadgroup* group)
      : first(launch, group), rest(launch, group) {}
  template <auto Kernel, class... Values>
  OPENMPS_INLINE void call(const Thread& thread, Values&&... values) {
    rest.template call<Kernel>(thread, static_cast<Values&&>(values)..., first.get(thread));
  }
};

template <class Signature, int... Slots>
struct Pack;
template <class... P, int... Slots>
struct Pack<void (*)(P...), Slots...> {
  static_assert(sizeof...(P) == sizeof...(Slots), "one slot for each parameter");
  using type = Arguments<Argument<P, Slots>...>;
};

// A loop over a block. The grid's x is the innermost loop variable, so that an access by it is
// seen to be contiguous.
template <auto Kernel, int... Slots>
OPENMPS_INLINE void run_plain(const Launch* launch, const Block* block) {
  typename Pack<decltype(Kernel), Slots...>::type arguments(launch, nullptr);
  const Triple begin = triple(block->begin), end = triple(block->end);
  Thread thread;
  thread.grid = triple(launch->grid);
  thread.group = triple(launch->group);
  thread.groups = triple(launch->groups);
  thread.group_shape = {end.x - begin.x, end.y - begin.y, end.z - begin.z};
  thread.group_position = {begin.x / thread.group.x, begin.y / thread.group.y,
                           begin.z / thread.group.z};
  for (unsigned z = begin.z; z < end.z; ++z) {
    for (unsigned y = begin.y; y < end.y; ++y) {
      for (unsigned x = begin.x; x < end.x; ++x) {
        Thread here = thread;
        here.grid_position = {x, y, z};
        here.position = {x - begin.x, y - begin.y, z - begin.z};
        here.index = (here.position.z * here.group_shape.y + here.position.y) * here.group_shape.x +
                     here.position.x;
        here.lane = here.index % 32u;
        here.simdgroup = here.index / 32u;
        arguments.template call<Kernel>(here);
      }
    }
  }
}

// One thread; x, y, z is its position in the threadgroup.
template <auto Kernel, int... Slots>
OPENMPS_INLINE void run_thread(const Launch* launch, const Threadgroup* group, unsigned x,
                               unsigned y, unsigned z, unsigned lane, unsigned simdgroup) {
  typename Pack<decltype(Kernel), Slots...>::type arguments(launch, group);
  Thread thread;
  thread.grid = triple(launch->grid);
  thread.group = triple(launch->group);
  thread.groups = triple(launch->groups);
  thread.group_position = triple(group->position);
  thread.group_shape = triple(group->shape);
  thread.position = {x, y, z};
  thread.grid_position = {thread.group_position.x * thread.group.x + x,
                          thread.group_position.y * thread.group.y + y,
                          thread.group_position.z * thread.group.z + z};
  thread.index = simdgroup * 32u + lane;
  thread.lane = lane;
  thread.simdgroup = simdgroup;
  arguments.template call<Kernel>(thread);
}

}  // namespace openmps_entry
}  // namespace msl

#define OPENMPS_PLAIN_ENTRY(...)                                                 \
  extern "C" __attribute__((visibility("default"), flatten)) void openmps_plain( \
      const openmps::Launch* launch, const openmps::Block* block) {              \
    msl::openmps_entry::run_plain<__VA_ARGS__>(launch, block);                   \
  }
#define OPENMPS_THREAD_ENTRY(...)                                                               \
  extern "C" __attribute__((visibility("default"), flatten)) void openmps_thread(               \
      const openmps::Launch* launch, const openmps::Threadgroup* group, unsigned x, unsigned y, \
      unsigned z, unsigned lane, unsigned simdgroup) {                                          \
    msl::openmps_entry::run_thread<__VA_ARGS__>(launch, group, x, y, z, lane, simdgroup);       \
  }
