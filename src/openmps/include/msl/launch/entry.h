// How a generated wrapper calls a kernel: OPENMPS_PLAIN_ENTRY(&msl::f<float>, slots...) or
// OPENMPS_THREAD_ENTRY(...), with a slot for each of the kernel's parameters that says where its
// value comes from: n for [[buffer(n)]], openmps_slot::threadgroup + n for [[threadgroup(n)]], or
// one of the names below, which are Metal's.
#pragma once

#include "launch.h"
#include "positions.h"

namespace msl {
namespace openmps_entry {

using openmps::Block;
using openmps::Launch;
using openmps::Threadgroup;

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
