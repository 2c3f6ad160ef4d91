// The primitives of lanes.h for a warp. Orders and identities are as written there. "Active" lanes
// are those that the hardware runs together at this call.
#pragma once

#include "builtins.h"

#define OPENMPS_CUDA_LANES extern "C" OPENMPS_CUDA_INLINE

namespace openmps_nvidia {

constexpr unsigned kAllLanes = 0xffffffffu;

template <class T>
OPENMPS_CUDA_INLINE T shuffle(unsigned active, T value, unsigned lane) {
  return ::__shfl_sync(active, value, static_cast<int>(lane));
}
template <class T>
OPENMPS_CUDA_INLINE T shuffle_xor(T value, unsigned mask) {
  return ::__shfl_xor_sync(kAllLanes, value, static_cast<int>(mask));
}
template <class T>
OPENMPS_CUDA_INLINE T shuffle_up(unsigned active, T value, unsigned delta) {
  return ::__shfl_up_sync(active, value, delta);
}

OPENMPS_CUDA_INLINE unsigned lane() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  __builtin_assume(lane < 32u);
  return lane;
}

// ---- operations: their value for a lane that is not active, and for two lanes

template <class T>
struct add {
  static OPENMPS_CUDA_INLINE T identity() { return T(0); }
  static OPENMPS_CUDA_INLINE T of_nothing() { return T(0); }
  static OPENMPS_CUDA_INLINE T apply(T a, T b) { return a + b; }
};
template <>
struct add<float> {
  static OPENMPS_CUDA_INLINE float identity() { return -0.0f; }  // 0 + -0 is not -0
  static OPENMPS_CUDA_INLINE float of_nothing() { return 0.0f; }
  static OPENMPS_CUDA_INLINE float apply(float a, float b) { return ::__fadd_rn(a, b); }
};
template <class T>
struct mul {
  static OPENMPS_CUDA_INLINE T identity() { return T(1); }
  static OPENMPS_CUDA_INLINE T of_nothing() { return T(1); }
  static OPENMPS_CUDA_INLINE T apply(T a, T b) { return a * b; }
};
// Never made one instruction with a neighbour: the lanes would round differently.
template <>
OPENMPS_CUDA_INLINE float mul<float>::apply(float a, float b) {
  return ::__fmul_rn(a, b);
}
#define OPENMPS_CUDA_OPERATION(name, identity_value, ...)                \
  template <class T>                                                     \
  struct name {                                                          \
    static OPENMPS_CUDA_INLINE T identity() { return identity_value; }   \
    static OPENMPS_CUDA_INLINE T apply(T a, T b) { return __VA_ARGS__; } \
  };
OPENMPS_CUDA_OPERATION(min, __builtin_nanf(""), ::fminf(a, b))
OPENMPS_CUDA_OPERATION(max, __builtin_nanf(""), ::fmaxf(a, b))
OPENMPS_CUDA_OPERATION(bit_and, ~T(0), a& b)
OPENMPS_CUDA_OPERATION(bit_or, T(0), a | b)
OPENMPS_CUDA_OPERATION(bit_xor, T(0), a ^ b)
OPENMPS_CUDA_OPERATION(umin, ~T(0), b < a ? b : a)
OPENMPS_CUDA_OPERATION(umax, T(0), b > a ? b : a)
// Signed order is unsigned order with the sign bit turned.
template <class T>
inline constexpr T sign_bit = T(1) << (sizeof(T) * 8 - 1);
OPENMPS_CUDA_OPERATION(smin, ~sign_bit<T>, (b ^ sign_bit<T>) < (a ^ sign_bit<T>) ? b : a)
OPENMPS_CUDA_OPERATION(smax, sign_bit<T>, (b ^ sign_bit<T>) > (a ^ sign_bit<T>) ? b : a)
#undef OPENMPS_CUDA_OPERATION

// ---- reductions

// After the step of `half`, lanes that leave the same rest by it hold the same value: one cell of
// the tree. So a cell is read from any active lane of its class, and is the identity if none is.
template <template <class> class Operation, class T>
OPENMPS_CUDA_INLINE T reduce_some(unsigned active, T value) {
  const unsigned self = lane();
  unsigned first_class = 1;  // the lanes 0, 2 half, 4 half, ...
#pragma unroll 1
  for (unsigned half = 16; half > 0; half /= 2) {
    const unsigned sources = active & (first_class << ((self ^ half) & (2 * half - 1)));
    const T other = shuffle(active, value, __builtin_ctz(sources) & 31u);
    value = Operation<T>::apply(value, sources != 0 ? other : Operation<T>::identity());
    first_class |= first_class << half;
  }
  return value;
}

// Every lane computes every cell that its tree leads to: a and b may change places, which no
// operation here notices.
template <template <class> class Operation, class T>
OPENMPS_CUDA_INLINE T reduce(T value) {
  const unsigned active = ::__activemask();
  if (active != kAllLanes) return reduce_some<Operation>(active, value);
#pragma unroll
  for (unsigned half = 16; half > 0; half /= 2) {
    value = Operation<T>::apply(value, shuffle_xor(value, half));
  }
  return value;
}

// ---- scans

// Any active lanes: each lane does the whole scan by itself. Rare, so kept out of the way.
template <template <class> class Operation, class T>
__device__ __noinline__ T scan_some(unsigned active, T value, bool exclusive) {
  T values[32];
  for (unsigned i = 0; i < 32; ++i) {
    const T other = shuffle(active, value, i);
    values[i] = (active >> i) & 1u ? other : Operation<T>::identity();
  }
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    for (unsigned i = 31; i >= distance; --i) {
      values[i] = Operation<T>::apply(values[i - distance], values[i]);
    }
  }
  const unsigned self = lane();
  if (!exclusive) return values[self];
  return self == 0 ? Operation<T>::of_nothing() : values[self - 1];
}

template <template <class> class Operation, class T>
OPENMPS_CUDA_INLINE T scan(T value, bool exclusive) {
  const unsigned active = ::__activemask();
  // The lanes from 0 on: whatever an active lane reads from is active.
  if ((active & (active + 1u)) != 0) return scan_some<Operation>(active, value, exclusive);
  const unsigned self = lane();
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const T below = shuffle_up(active, value, distance);
    if (self >= distance) value = Operation<T>::apply(below, value);
  }
  if (!exclusive) return value;
  const T below = shuffle_up(active, value, 1);
  return self == 0 ? Operation<T>::of_nothing() : below;
}

}  // namespace openmps_nvidia

// ---- the functions of lanes.h

OPENMPS_CUDA_LANES void openmps_threadgroup_barrier() { ::__syncthreads(); }
OPENMPS_CUDA_LANES void openmps_simdgroup_barrier() { ::__syncwarp(::__activemask()); }
OPENMPS_CUDA_LANES unsigned openmps_lane() { return openmps_nvidia::lane(); }
OPENMPS_CUDA_LANES unsigned openmps_active() { return ::__activemask(); }
OPENMPS_CUDA_LANES unsigned openmps_ballot(bool vote) {
  return ::__ballot_sync(::__activemask(), vote);
}
OPENMPS_CUDA_LANES unsigned openmps_shuffle_u32(unsigned value, unsigned lane) {
  return openmps_nvidia::shuffle(::__activemask(), value, lane & 31u);
}
OPENMPS_CUDA_LANES unsigned long openmps_shuffle_u64(unsigned long value, unsigned lane) {
  return openmps_nvidia::shuffle(::__activemask(), value, lane & 31u);
}

#define OPENMPS_CUDA_REDUCE(name, suffix, type, operation)               \
  OPENMPS_CUDA_LANES type openmps_reduce_##name##_##suffix(type value) { \
    return openmps_nvidia::reduce<openmps_nvidia::operation>(value);     \
  }
OPENMPS_CUDA_REDUCE(add, f32, float, add)
OPENMPS_CUDA_REDUCE(mul, f32, float, mul)
OPENMPS_CUDA_REDUCE(min, f32, float, min)
OPENMPS_CUDA_REDUCE(max, f32, float, max)
OPENMPS_CUDA_REDUCE(mul, u32, unsigned, mul)
OPENMPS_CUDA_REDUCE(add, u64, unsigned long, add)
OPENMPS_CUDA_REDUCE(mul, u64, unsigned long, mul)
OPENMPS_CUDA_REDUCE(and, u64, unsigned long, bit_and)
OPENMPS_CUDA_REDUCE(or, u64, unsigned long, bit_or)
OPENMPS_CUDA_REDUCE(xor, u64, unsigned long, bit_xor)
OPENMPS_CUDA_REDUCE(umin, u64, unsigned long, umin)
OPENMPS_CUDA_REDUCE(umax, u64, unsigned long, umax)
OPENMPS_CUDA_REDUCE(smin, u64, unsigned long, smin)
OPENMPS_CUDA_REDUCE(smax, u64, unsigned long, smax)
// One instruction from compute capability 8.0 on, for any active lanes.
#if __CUDA_ARCH__ >= 800
#define OPENMPS_CUDA_REDUCE_WORD(name, operation, builtin, type)                  \
  OPENMPS_CUDA_LANES unsigned openmps_reduce_##name##_u32(unsigned value) {       \
    return static_cast<unsigned>(                                                 \
        ::__reduce_##builtin##_sync(::__activemask(), static_cast<type>(value))); \
  }
#else
#define OPENMPS_CUDA_REDUCE_WORD(name, operation, builtin, type) \
  OPENMPS_CUDA_REDUCE(name, u32, unsigned, operation)
#endif
OPENMPS_CUDA_REDUCE_WORD(add, add, add, unsigned)
OPENMPS_CUDA_REDUCE_WORD(and, bit_and, and, unsigned)
OPENMPS_CUDA_REDUCE_WORD(or, bit_or, or, unsigned)
OPENMPS_CUDA_REDUCE_WORD(xor, bit_xor, xor, unsigned)
OPENMPS_CUDA_REDUCE_WORD(umin, umin, min, unsigned)
OPENMPS_CUDA_REDUCE_WORD(umax, umax, max, unsigned)
OPENMPS_CUDA_REDUCE_WORD(smin, smin, min, int)
OPENMPS_CUDA_REDUCE_WORD(smax, smax, max, int)
#undef OPENMPS_CUDA_REDUCE_WORD
#undef OPENMPS_CUDA_REDUCE

#define OPENMPS_CUDA_SCAN(name, suffix, type)                                    \
  OPENMPS_CUDA_LANES type openmps_scan_inclusive_##name##_##suffix(type value) { \
    return openmps_nvidia::scan<openmps_nvidia::name>(value, false);             \
  }                                                                              \
  OPENMPS_CUDA_LANES type openmps_scan_exclusive_##name##_##suffix(type value) { \
    return openmps_nvidia::scan<openmps_nvidia::name>(value, true);              \
  }
OPENMPS_CUDA_SCAN(add, f32, float)
OPENMPS_CUDA_SCAN(mul, f32, float)
OPENMPS_CUDA_SCAN(add, u32, unsigned)
OPENMPS_CUDA_SCAN(mul, u32, unsigned)
OPENMPS_CUDA_SCAN(add, u64, unsigned long)
OPENMPS_CUDA_SCAN(mul, u64, unsigned long)
#undef OPENMPS_CUDA_SCAN
#undef OPENMPS_CUDA_LANES
