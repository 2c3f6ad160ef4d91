// The __atomic_ functions of clang and g++ over CUDA's: generic addresses, the whole device. Any
// order but relaxed is a fence on both sides.
#pragma once

#include "builtins.h"

#define __ATOMIC_RELAXED 0
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5

namespace openmps_nvidia {

// The type that CUDA's functions want for T: it knows 64 bits as long long only.
template <class T>
struct atomic_type {
  using type = T;
};
template <>
struct atomic_type<long> {
  using type = long long;
};
template <>
struct atomic_type<unsigned long> {
  using type = unsigned long long;
};
// Signed addition and bits are unsigned ones.
template <class T>
struct unsigned_type : atomic_type<T> {};
template <>
struct unsigned_type<int> {
  using type = unsigned;
};
template <>
struct unsigned_type<long> {
  using type = unsigned long long;
};
template <class T>
using atomic_t = typename atomic_type<T>::type;
template <class T>
using unsigned_t = typename unsigned_type<T>::type;

template <class U, class T>
OPENMPS_CUDA_INLINE U* atomic_address(volatile T* object) {
  return reinterpret_cast<U*>(const_cast<T*>(object));
}
OPENMPS_CUDA_INLINE void fence_unless_relaxed(int order) {
  if (order != __ATOMIC_RELAXED) ::__threadfence();
}

}  // namespace openmps_nvidia

OPENMPS_CUDA_INLINE void __atomic_thread_fence(int) { ::__threadfence(); }

template <class T>
OPENMPS_CUDA_INLINE T __atomic_load_n(const volatile T* object, int order) {
  T value;
  openmps_nvidia::fence_unless_relaxed(order);
  if constexpr (sizeof(T) == 8) {
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(value) : "l"(object) : "memory");
  } else {
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(object) : "memory");
  }
  openmps_nvidia::fence_unless_relaxed(order);
  return value;
}
template <class T>
OPENMPS_CUDA_INLINE void __atomic_store_n(volatile T* object, T value, int order) {
  openmps_nvidia::fence_unless_relaxed(order);
  if constexpr (sizeof(T) == 8) {
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" : : "l"(object), "l"(value) : "memory");
  } else {
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" : : "l"(object), "r"(value) : "memory");
  }
  openmps_nvidia::fence_unless_relaxed(order);
}
template <class T>
OPENMPS_CUDA_INLINE bool __atomic_compare_exchange_n(volatile T* object, T* expected, T desired,
                                                     bool, int order, int) {
  using U = openmps_nvidia::unsigned_t<T>;
  const T before = *expected;
  openmps_nvidia::fence_unless_relaxed(order);
  *expected = static_cast<T>(::atomicCAS(openmps_nvidia::atomic_address<U>(object),
                                         static_cast<U>(before), static_cast<U>(desired)));
  openmps_nvidia::fence_unless_relaxed(order);
  return *expected == before;
}

#define OPENMPS_CUDA_ATOMIC(name, kind, ...)                             \
  template <class T, class V>                                            \
  OPENMPS_CUDA_INLINE T name(volatile T* object, V operand, int order) { \
    using U = openmps_nvidia::kind##_t<T>;                               \
    U* const address = openmps_nvidia::atomic_address<U>(object);        \
    const U value = static_cast<U>(operand);                             \
    openmps_nvidia::fence_unless_relaxed(order);                         \
    const T old = static_cast<T>(__VA_ARGS__);                           \
    openmps_nvidia::fence_unless_relaxed(order);                         \
    return old;                                                          \
  }
OPENMPS_CUDA_ATOMIC(__atomic_exchange_n, unsigned, ::atomicExch(address, value))
OPENMPS_CUDA_ATOMIC(__atomic_fetch_add, unsigned, ::atomicAdd(address, value))
OPENMPS_CUDA_ATOMIC(__atomic_fetch_sub, unsigned, ::atomicAdd(address, static_cast<U>(-value)))
OPENMPS_CUDA_ATOMIC(__atomic_fetch_and, unsigned, ::atomicAnd(address, value))
OPENMPS_CUDA_ATOMIC(__atomic_fetch_or, unsigned, ::atomicOr(address, value))
OPENMPS_CUDA_ATOMIC(__atomic_fetch_xor, unsigned, ::atomicXor(address, value))
OPENMPS_CUDA_ATOMIC(__atomic_fetch_min, atomic, ::atomicMin(address, value))
OPENMPS_CUDA_ATOMIC(__atomic_fetch_max, atomic, ::atomicMax(address, value))
#undef OPENMPS_CUDA_ATOMIC
