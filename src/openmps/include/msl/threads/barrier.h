// Memory flags, orders and scopes; barriers and fences.
#pragma once

#ifdef __CUDACC_RTC__
#include "../cuda/atomics.h"
#endif
#include "lanes.h"
#include "../types/traits.h"

namespace msl {
namespace metal {

// A class of its own namespace metal: threadgroup_barrier(metal::mem_flags::...) finds metal's
// function by its argument.
enum class mem_flags : unsigned {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16,
};
OPENMPS_INLINE constexpr mem_flags operator|(mem_flags a, mem_flags b) {
  return static_cast<mem_flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
OPENMPS_INLINE constexpr mem_flags operator&(mem_flags a, mem_flags b) {
  return static_cast<mem_flags>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

enum memory_order : int {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST,
};
// No thread_scope_system: MLX defines it.
enum thread_scope {
  thread_scope_thread,
  thread_scope_simdgroup,
  thread_scope_threadgroup,
  thread_scope_device,
};

OPENMPS_INLINE void threadgroup_barrier([[maybe_unused]] mem_flags flags,
                                        thread_scope = thread_scope_threadgroup) {
#ifdef __CUDACC_RTC__
  // Real kernels count on it that other threadgroups see what was written before a later atomic.
  if ((flags & mem_flags::mem_device) != mem_flags::mem_none)
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
  openmps_threadgroup_barrier();
}
OPENMPS_INLINE void simdgroup_barrier(mem_flags, thread_scope = thread_scope_simdgroup) {
  openmps_simdgroup_barrier();
}
OPENMPS_INLINE void atomic_thread_fence(mem_flags, memory_order order,
                                        thread_scope = thread_scope_device) {
  if (order != memory_order_relaxed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

}  // namespace metal
}  // namespace msl
