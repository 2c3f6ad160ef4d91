// How a generated CUDA kernel begins: OPENMPS_CUDA_CALL(how, &f<float>, slots...) in the namespace
// of the kernel, with slots as in entry.h, but openmps_slot::constant + n where a parameter is in
// constant memory. `how` is run_grid for kernels that only look at the grid, else run_group. Then
// OPENMPS_CUDA_ENTRY(that namespace::, most threads).
#pragma once

#include "../launch/cuda_launch.h"
#include "../launch/positions.h"

namespace msl {
namespace openmps_entry {

using openmps::CudaLaunch;

extern __shared__ __align__(16) unsigned char openmps_dynamic[];

// What the kernel's parameter leads to. The compiler is told which memory that is: a load by an
// address that may be anywhere is slower.
template <class T, int Slot>
OPENMPS_INLINE T* cuda_address(const CudaLaunch& launch) {
  if constexpr (Slot >= openmps_slot::constant) {
    constexpr int buffer = Slot - openmps_slot::constant;
    const unsigned offset = launch.inline_offset[buffer];
    return offset != 0 ? (T*)(launch.bytes + (offset & ~15u)) : (T*)launch.buffers[buffer];
  } else if constexpr (Slot >= openmps_slot::threadgroup) {
    return (T*)(openmps_dynamic + launch.dynamic_offset[Slot - openmps_slot::threadgroup]);
  } else {
    T* const address = (T*)launch.buffers[Slot];
    __builtin_assume(__isGlobal((const void*)address));
    return address;
  }
}

template <class P, int Slot, bool IsBuiltin = (Slot < 0)>
struct CudaArgument {
  OPENMPS_INLINE explicit CudaArgument(const CudaLaunch&) {}
  OPENMPS_INLINE P get(const Thread& thread) {
    return as_parameter<metal::remove_cv_t<P>>(builtin<Slot>(thread));
  }
};

template <class T, int Slot>
struct CudaArgument<T*, Slot, false> {
  T* pointer;
  OPENMPS_INLINE explicit CudaArgument(const CudaLaunch& launch)
      : pointer(cuda_address<T, Slot>(launch)) {}
  OPENMPS_INLINE T* get(const Thread&) { return pointer; }
};

// `constant T&`: a copy, if small (see entry.h). What is not bound reads as zero.
template <class T, int Slot>
inline constexpr bool is_cuda_copied = Slot >= openmps_slot::constant && sizeof(T) <= 256 &&
                                       __is_trivially_copyable(T) && metal::is_const_v<T>;

template <class T, int Slot>
struct CudaArgument<T&, Slot, false> {
  struct Copy {
    alignas(T) unsigned char bytes[is_cuda_copied<T, Slot> ? sizeof(T) : 1];
  };
  T* pointer = nullptr;
  Copy copy;
  OPENMPS_INLINE explicit CudaArgument(const CudaLaunch& launch) {
    if constexpr (is_cuda_copied<T, Slot>) {
      constexpr int buffer = Slot - openmps_slot::constant;
      const unsigned offset = launch.inline_offset[buffer];
      const void* const address = launch.buffers[buffer];
      if (offset != 0) {
        copy = *(const Copy*)(launch.bytes + (offset & ~15u));
      } else if (address != nullptr) {
        copy = *(const Copy*)address;
      } else {
        copy = Copy{};
      }
    } else {
      pointer = cuda_address<T, Slot>(launch);
    }
  }
  OPENMPS_INLINE T& get(const Thread&) {
    if constexpr (is_cuda_copied<T, Slot>) {
      return *reinterpret_cast<T*>(copy.bytes);
    } else {
      return *pointer;
    }
  }
};

// All arguments, one inside the next.
template <class... A>
struct CudaArguments {
  OPENMPS_INLINE explicit CudaArguments(const CudaLaunch&) {}
  template <auto Kernel, class... Values>
  OPENMPS_INLINE void call(const Thread&, Values&&... values) {
    Kernel(static_cast<Values&&>(values)...);
  }
};
template <class First, class... Rest>
struct CudaArguments<First, Rest...> {
  First first;
  CudaArguments<Rest...> rest;
  OPENMPS_INLINE explicit CudaArguments(const CudaLaunch& launch) : first(launch), rest(launch) {}
  template <auto Kernel, class... Values>
  OPENMPS_INLINE void call(const Thread& thread, Values&&... values) {
    rest.template call<Kernel>(thread, static_cast<Values&&>(values)..., first.get(thread));
  }
};
template <class Signature, int... Slots>
struct CudaPack;
template <class... P, int... Slots>
struct CudaPack<void (*)(P...), Slots...> {
  static_assert(sizeof...(P) == sizeof...(Slots), "one slot for each parameter");
  using type = CudaArguments<CudaArgument<P, Slots>...>;
};

// The place of the block's threadgroup in the grid, and of the thread in a whole threadgroup.
struct Place {
  Triple group, thread;
};
OPENMPS_INLINE Triple unrolled(unsigned index, const unsigned (&sizes)[3]) {
  const unsigned row = index / sizes[0];
  return {index % sizes[0], row % sizes[1], row / sizes[1]};
}
OPENMPS_INLINE Place place_of(const CudaLaunch& launch) {
  Place place = {{blockIdx.x, blockIdx.y, blockIdx.z}, {threadIdx.x, threadIdx.y, threadIdx.z}};
  if ((launch.flat & (openmps::kFlatGroups | openmps::kFlatThreads)) != 0) {
    if (launch.flat & openmps::kFlatGroups) place.group = unrolled(blockIdx.x, launch.groups);
    if (launch.flat & openmps::kFlatThreads) place.thread = unrolled(threadIdx.x, launch.group);
  }
  return place;
}

OPENMPS_INLINE unsigned shorter(unsigned a, unsigned b) { return a < b ? a : b; }

// For kernels that only look at the grid: threads beyond it have nothing to do.
template <auto Kernel, int... Slots>
OPENMPS_INLINE void run_grid(const CudaLaunch& launch) {
  Thread thread{};
  thread.grid = triple(launch.grid);
  // Most launches; in a kernel that moves a few bytes, finding out more would take as long.
  if (launch.flat == openmps::kLine) {
    thread.grid_position = {blockIdx.x * launch.group[0] + threadIdx.x, 0, 0};
    if (thread.grid_position.x >= thread.grid.x) return;
  } else {
    const Place at = place_of(launch);
    thread.grid_position = {at.group.x * launch.group[0] + at.thread.x,
                            at.group.y * launch.group[1] + at.thread.y,
                            at.group.z * launch.group[2] + at.thread.z};
    if (thread.grid_position.x >= thread.grid.x || thread.grid_position.y >= thread.grid.y ||
        thread.grid_position.z >= thread.grid.z) {
      return;
    }
  }
  typename CudaPack<decltype(Kernel), Slots...>::type arguments(launch);
  arguments.template call<Kernel>(thread);
}

// Threadgroups at the grid's edge have fewer threads, numbered without gaps; the rest of the block
// leaves.
template <auto Kernel, int... Slots>
OPENMPS_INLINE void run_group(const CudaLaunch& launch) {
  Thread thread;
  thread.grid = triple(launch.grid);
  thread.group = triple(launch.group);
  thread.groups = triple(launch.groups);
  const Place at = place_of(launch);
  thread.group_position = at.group;
  const Triple first = {thread.group_position.x * thread.group.x,
                        thread.group_position.y * thread.group.y,
                        thread.group_position.z * thread.group.z};
  thread.group_shape = {shorter(thread.group.x, thread.grid.x - first.x),
                        shorter(thread.group.y, thread.grid.y - first.y),
                        shorter(thread.group.z, thread.grid.z - first.z)};
  const Triple shape = thread.group_shape;
  thread.position = at.thread;
  thread.index = (at.thread.z * thread.group.y + at.thread.y) * thread.group.x + at.thread.x;
  if (shape.x != thread.group.x || shape.y != thread.group.y || shape.z != thread.group.z) {
    if (thread.index >= count(shape)) return;
    const unsigned row = thread.index / shape.x;
    thread.position = {thread.index % shape.x, row % shape.y, row / shape.y};
  }
  thread.grid_position = {first.x + thread.position.x, first.y + thread.position.y,
                          first.z + thread.position.z};
  thread.lane = thread.index % 32u;
  thread.simdgroup = thread.index / 32u;
  typename CudaPack<decltype(Kernel), Slots...>::type arguments(launch);
  arguments.template call<Kernel>(thread);
}

}  // namespace openmps_entry
}  // namespace msl

// A function and no variable that holds the kernel's address: NVRTC does not see through one.
#define OPENMPS_CUDA_CALL(how, ...)                                     \
  OPENMPS_INLINE void openmps_call(const openmps::CudaLaunch& launch) { \
    ::msl::openmps_entry::how<__VA_ARGS__>(launch);                     \
  }
#define OPENMPS_CUDA_ENTRY(scope, limit)                                 \
  extern "C" __device__ unsigned openmps_max_threads = limit;            \
  extern "C" __global__ void __launch_bounds__(limit)                    \
      openmps_cuda(const __grid_constant__ openmps::CudaLaunch launch) { \
    scope openmps_call(launch);                                          \
  }
