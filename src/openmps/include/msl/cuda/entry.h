// How a generated CUDA kernel begins: OPENMPS_CUDA_CALL(how, &f<float>, slots...) in the namespace
// of the kernel, with slots as in entry.h, but openmps_slot::constant + n where a parameter is in
// constant memory. `how` is run_grid for kernels that only look at the grid, else run_group. Then
// OPENMPS_CUDA_ENTRY(that namespace::, most threads).
#pragma once

#include "../cuda_launch.h"
#include "../positions.h"

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

OPENMPS_INLINE Triple group_position(const CudaLaunch& launch) {
  if (launch.flat == 0) return {blockIdx.x, blockIdx.y, blockIdx.z};
  const unsigned across = launch.groups[0], down = launch.groups[1];
  return {blockIdx.x % across, blockIdx.x / across % down, blockIdx.x / across / down};
}

OPENMPS_INLINE unsigned shorter(unsigned a, unsigned b) { return a < b ? a : b; }

// For kernels that only look at the grid: threads beyond it have nothing to do.
template <auto Kernel, int... Slots>
OPENMPS_INLINE void run_grid(const CudaLaunch& launch) {
  Thread thread{};
  const Triple at = group_position(launch);
  thread.grid = triple(launch.grid);
  thread.grid_position = {at.x * launch.group[0] + threadIdx.x,
                          at.y * launch.group[1] + threadIdx.y,
                          at.z * launch.group[2] + threadIdx.z};
  if (thread.grid_position.x >= thread.grid.x || thread.grid_position.y >= thread.grid.y ||
      thread.grid_position.z >= thread.grid.z) {
    return;
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
  thread.group_position = group_position(launch);
  const Triple first = {thread.group_position.x * thread.group.x,
                        thread.group_position.y * thread.group.y,
                        thread.group_position.z * thread.group.z};
  thread.group_shape = {shorter(thread.group.x, thread.grid.x - first.x),
                        shorter(thread.group.y, thread.grid.y - first.y),
                        shorter(thread.group.z, thread.grid.z - first.z)};
  const Triple shape = thread.group_shape;
  thread.position = {threadIdx.x, threadIdx.y, threadIdx.z};
  thread.index = (threadIdx.z * thread.group.y + threadIdx.y) * thread.group.x + threadIdx.x;
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
