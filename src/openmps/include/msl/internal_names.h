// The compiler-internal names of Apple's headers that user code calls (MLX's copies of
// metal_math and metal_simdgroup for its own types do), and what their headers define as macros.
#pragma once

#include "threads/quad.h"

#define METAL_FUNC inline __attribute__((always_inline))
#define METAL_CONST_FUNC inline __attribute__((always_inline))
#define METAL_INTERNAL inline __attribute__((always_inline))
#define METAL_ALIGN(x) alignas(x)
#define METAL_ASM(...)
#define METAL_CONST
#define __METAL_MAYBE_FAST_MATH__ 0
#define __METAL_FAST_MATH__ 1
#define __METAL_PRECISE_MATH__ 2

namespace msl {

#define OPENMPS_INTERNAL_1(name) \
  OPENMPS_INLINE float __metal_##name(float x, int = 0) { return metal::name(x); }
#define OPENMPS_INTERNAL_2(name) \
  OPENMPS_INLINE float __metal_##name(float x, float y, int = 0) { return metal::name(x, y); }
#define OPENMPS_INTERNAL_3(name)                                            \
  OPENMPS_INLINE float __metal_##name(float x, float y, float z, int = 0) { \
    return metal::name(x, y, z);                                            \
  }
OPENMPS_INTERNAL_1(acos)
OPENMPS_INTERNAL_1(acosh)
OPENMPS_INTERNAL_1(asin)
OPENMPS_INTERNAL_1(asinh)
OPENMPS_INTERNAL_1(atan)
OPENMPS_INTERNAL_1(atanh)
OPENMPS_INTERNAL_1(ceil)
OPENMPS_INTERNAL_1(cos)
OPENMPS_INTERNAL_1(cosh)
OPENMPS_INTERNAL_1(cospi)
OPENMPS_INTERNAL_1(exp)
OPENMPS_INTERNAL_1(exp10)
OPENMPS_INTERNAL_1(exp2)
OPENMPS_INTERNAL_1(fabs)
OPENMPS_INTERNAL_1(floor)
OPENMPS_INTERNAL_1(fract)
OPENMPS_INTERNAL_1(log)
OPENMPS_INTERNAL_1(log10)
OPENMPS_INTERNAL_1(log2)
OPENMPS_INTERNAL_1(rint)
OPENMPS_INTERNAL_1(round)
OPENMPS_INTERNAL_1(rsqrt)
OPENMPS_INTERNAL_1(sin)
OPENMPS_INTERNAL_1(sinh)
OPENMPS_INTERNAL_1(sinpi)
OPENMPS_INTERNAL_1(sqrt)
OPENMPS_INTERNAL_1(tan)
OPENMPS_INTERNAL_1(tanh)
OPENMPS_INTERNAL_1(tanpi)
OPENMPS_INTERNAL_1(trunc)
OPENMPS_INTERNAL_1(saturate)
OPENMPS_INTERNAL_2(atan2)
OPENMPS_INTERNAL_2(copysign)
OPENMPS_INTERNAL_2(divide)
OPENMPS_INTERNAL_2(fdim)
OPENMPS_INTERNAL_2(fmax)
OPENMPS_INTERNAL_2(fmin)
OPENMPS_INTERNAL_2(fmod)
OPENMPS_INTERNAL_2(nextafter)
OPENMPS_INTERNAL_2(pow)
OPENMPS_INTERNAL_2(powr)
OPENMPS_INTERNAL_3(fma)
OPENMPS_INTERNAL_3(fmax3)
OPENMPS_INTERNAL_3(fmedian3)
OPENMPS_INTERNAL_3(fmin3)
OPENMPS_INTERNAL_3(clamp)
OPENMPS_INTERNAL_3(mix)
#undef OPENMPS_INTERNAL_1
#undef OPENMPS_INTERNAL_2
#undef OPENMPS_INTERNAL_3
OPENMPS_INLINE int __metal_ilogb(float x) { return metal::ilogb(x); }
OPENMPS_INLINE float __metal_ldexp(float x, int k, int = 0) { return metal::ldexp(x, k); }
OPENMPS_INLINE float __metal_frexp(float x, int* k, int = 0) { return metal::frexp(x, *k); }
OPENMPS_INLINE float __metal_modf(float x, float* whole, int = 0) { return metal::modf(x, *whole); }
OPENMPS_INLINE float __metal_sincos(float x, float* cosine, int = 0) {
  return metal::sincos(x, *cosine);
}
OPENMPS_INLINE bool __metal_isnan(float x, int = 0) { return metal::isnan(x); }
OPENMPS_INLINE bool __metal_isinf(float x, int = 0) { return metal::isinf(x); }
OPENMPS_INLINE bool __metal_isfinite(float x, int = 0) { return metal::isfinite(x); }
OPENMPS_INLINE bool __metal_isnormal(float x, int = 0) { return metal::isnormal(x); }
OPENMPS_INLINE bool __metal_signbit(float x) { return metal::signbit(x); }

#define OPENMPS_INTERNAL_LANES(name)     \
  template <class T>                     \
  OPENMPS_INLINE T __metal_##name(T x) { \
    return metal::name(x);               \
  }
#define OPENMPS_INTERNAL_MOVE(name)                 \
  template <class T>                                \
  OPENMPS_INLINE T __metal_##name(T x, ushort by) { \
    return metal::name(x, by);                      \
  }
#define OPENMPS_INTERNAL_FILL(name)                                        \
  template <class T>                                                       \
  OPENMPS_INLINE T __metal_##name(T x, T fill, ushort by, ushort modulo) { \
    return metal::name(x, fill, by, modulo);                               \
  }
OPENMPS_INTERNAL_LANES(simd_sum)
OPENMPS_INTERNAL_LANES(simd_product)
OPENMPS_INTERNAL_LANES(simd_min)
OPENMPS_INTERNAL_LANES(simd_max)
OPENMPS_INTERNAL_LANES(simd_and)
OPENMPS_INTERNAL_LANES(simd_or)
OPENMPS_INTERNAL_LANES(simd_xor)
OPENMPS_INTERNAL_LANES(simd_prefix_inclusive_sum)
OPENMPS_INTERNAL_LANES(simd_prefix_exclusive_sum)
OPENMPS_INTERNAL_LANES(simd_prefix_inclusive_product)
OPENMPS_INTERNAL_LANES(simd_prefix_exclusive_product)
OPENMPS_INTERNAL_LANES(simd_broadcast_first)
OPENMPS_INTERNAL_LANES(quad_sum)
OPENMPS_INTERNAL_LANES(quad_product)
OPENMPS_INTERNAL_LANES(quad_min)
OPENMPS_INTERNAL_LANES(quad_max)
OPENMPS_INTERNAL_MOVE(simd_broadcast)
OPENMPS_INTERNAL_MOVE(simd_shuffle)
OPENMPS_INTERNAL_MOVE(simd_shuffle_down)
OPENMPS_INTERNAL_MOVE(simd_shuffle_up)
OPENMPS_INTERNAL_MOVE(simd_shuffle_xor)
OPENMPS_INTERNAL_MOVE(simd_shuffle_rotate_down)
OPENMPS_INTERNAL_MOVE(simd_shuffle_rotate_up)
OPENMPS_INTERNAL_MOVE(quad_broadcast)
OPENMPS_INTERNAL_MOVE(quad_shuffle)
OPENMPS_INTERNAL_MOVE(quad_shuffle_down)
OPENMPS_INTERNAL_MOVE(quad_shuffle_up)
OPENMPS_INTERNAL_MOVE(quad_shuffle_xor)
OPENMPS_INTERNAL_FILL(simd_shuffle_and_fill_down)
OPENMPS_INTERNAL_FILL(simd_shuffle_and_fill_up)
#undef OPENMPS_INTERNAL_LANES
#undef OPENMPS_INTERNAL_MOVE
#undef OPENMPS_INTERNAL_FILL
OPENMPS_INLINE ushort __metal_get_simdgroup_size(ushort) { return 32; }
OPENMPS_INLINE ushort __metal_get_thread_index_in_simdgroup(ushort) {
  return static_cast<ushort>(openmps_lane());
}

namespace metal {
template <class T>
struct __is_valid_simdgroup_type : bool_constant<is_arithmetic_v<T>> {};
}  // namespace metal

}  // namespace msl
