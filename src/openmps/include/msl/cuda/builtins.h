// The compiler functions of clang and g++ that the other headers call, for NVRTC, which has none of
// them. Those in constant expressions have a plain form beside the machine's instruction.
#pragma once

#define OPENMPS_CUDA_INLINE __device__ __forceinline__
#define OPENMPS_IN_CONSTANT __builtin_is_constant_evaluated()

namespace openmps_nvidia {
template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;
}  // namespace openmps_nvidia
#define __is_same(...) (::openmps_nvidia::is_same<__VA_ARGS__>)
#define __builtin_constant_p(...) false
#define __builtin_memcpy(to, from, bytes) memcpy(to, from, bytes)

OPENMPS_CUDA_INLINE constexpr float __builtin_huge_valf() {
  return __builtin_bit_cast(float, 0x7f800000);
}
OPENMPS_CUDA_INLINE constexpr float __builtin_nanf(const char*) {
  return __builtin_bit_cast(float, 0x7fc00000);
}
OPENMPS_CUDA_INLINE constexpr float __builtin_fabsf(float x) {
  if (OPENMPS_IN_CONSTANT)
    return __builtin_bit_cast(float, __builtin_bit_cast(int, x) & 0x7fffffff);
  return ::fabsf(x);
}
OPENMPS_CUDA_INLINE constexpr float __builtin_fminf(float a, float b) {
  if (OPENMPS_IN_CONSTANT) return a != a || b < a ? b : a;
  return ::fminf(a, b);
}
OPENMPS_CUDA_INLINE constexpr float __builtin_fmaxf(float a, float b) {
  if (OPENMPS_IN_CONSTANT) return a != a || b > a ? b : a;
  return ::fmaxf(a, b);
}

#define OPENMPS_CUDA_MATH_1(name) \
  OPENMPS_CUDA_INLINE float __builtin_##name(float x) { return ::name(x); }
#define OPENMPS_CUDA_MATH_2(name) \
  OPENMPS_CUDA_INLINE float __builtin_##name(float x, float y) { return ::name(x, y); }
OPENMPS_CUDA_MATH_1(acosf)
OPENMPS_CUDA_MATH_1(acoshf)
OPENMPS_CUDA_MATH_1(asinf)
OPENMPS_CUDA_MATH_1(asinhf)
OPENMPS_CUDA_MATH_1(atanf)
OPENMPS_CUDA_MATH_1(atanhf)
OPENMPS_CUDA_MATH_1(ceilf)
OPENMPS_CUDA_MATH_1(cosf)
OPENMPS_CUDA_MATH_1(coshf)
OPENMPS_CUDA_MATH_1(expf)
OPENMPS_CUDA_MATH_1(exp10f)
OPENMPS_CUDA_MATH_1(floorf)
OPENMPS_CUDA_MATH_1(logf)
OPENMPS_CUDA_MATH_1(log10f)
OPENMPS_CUDA_MATH_1(rintf)
OPENMPS_CUDA_MATH_1(roundf)
OPENMPS_CUDA_MATH_1(sinf)
OPENMPS_CUDA_MATH_1(sinhf)
OPENMPS_CUDA_MATH_1(sqrtf)
OPENMPS_CUDA_MATH_1(tanf)
OPENMPS_CUDA_MATH_1(truncf)
OPENMPS_CUDA_MATH_2(atan2f)
OPENMPS_CUDA_MATH_2(copysignf)
OPENMPS_CUDA_MATH_2(fmodf)
OPENMPS_CUDA_MATH_2(nextafterf)
OPENMPS_CUDA_MATH_2(powf)
#undef OPENMPS_CUDA_MATH_1
#undef OPENMPS_CUDA_MATH_2
OPENMPS_CUDA_INLINE float __builtin_fmaf(float x, float y, float z) { return ::fmaf(x, y, z); }
OPENMPS_CUDA_INLINE float __builtin_ldexpf(float x, int k) { return ::ldexpf(x, k); }
OPENMPS_CUDA_INLINE float __builtin_frexpf(float x, int* k) { return ::frexpf(x, k); }
OPENMPS_CUDA_INLINE int __builtin_ilogbf(float x) { return ::ilogbf(x); }

OPENMPS_CUDA_INLINE constexpr int __builtin_popcountl(unsigned long x) {
  if (OPENMPS_IN_CONSTANT) {
    int count = 0;
    for (; x != 0; x &= x - 1) ++count;
    return count;
  }
  return ::__popcll(x);
}
OPENMPS_CUDA_INLINE constexpr int __builtin_clzl(unsigned long x) {
  if (OPENMPS_IN_CONSTANT) {
    int count = 64;
    for (; x != 0; x >>= 1) --count;
    return count;
  }
  return ::__clzll(static_cast<long long>(x));
}
OPENMPS_CUDA_INLINE constexpr int __builtin_clz(unsigned x) {
  if (OPENMPS_IN_CONSTANT) return __builtin_clzl(x) - 32;
  return ::__clz(static_cast<int>(x));
}
OPENMPS_CUDA_INLINE constexpr int __builtin_ctzl(unsigned long x) {
  if (OPENMPS_IN_CONSTANT) return 63 - __builtin_clzl(x & (0ul - x));
  return ::__ffsll(static_cast<long long>(x)) - 1;
}
OPENMPS_CUDA_INLINE constexpr int __builtin_ctz(unsigned x) {
  if (OPENMPS_IN_CONSTANT) return __builtin_ctzl(x);
  return ::__ffs(static_cast<int>(x)) - 1;
}
OPENMPS_CUDA_INLINE constexpr unsigned long __builtin_bswap64(unsigned long x) {
  x = ((x >> 8) & 0x00ff00ff00ff00fful) | ((x & 0x00ff00ff00ff00fful) << 8);
  x = ((x >> 16) & 0x0000ffff0000fffful) | ((x & 0x0000ffff0000fffful) << 16);
  return (x >> 32) | (x << 32);
}

// The result's bits are right in any case; each tells whether the true result has others.
namespace openmps_nvidia {
template <class T>
inline constexpr bool is_signed_integer = T(-1) < T(0);
}
template <class T>
OPENMPS_CUDA_INLINE constexpr bool __builtin_add_overflow(T a, T b, T* result) {
  *result = static_cast<T>(static_cast<unsigned long>(a) + static_cast<unsigned long>(b));
  if constexpr (openmps_nvidia::is_signed_integer<T>) {
    return (*result < a) != (b < T(0));
  } else {
    return *result < a;
  }
}
template <class T>
OPENMPS_CUDA_INLINE constexpr bool __builtin_sub_overflow(T a, T b, T* result) {
  *result = static_cast<T>(static_cast<unsigned long>(a) - static_cast<unsigned long>(b));
  if constexpr (openmps_nvidia::is_signed_integer<T>) {
    return (*result > a) != (b < T(0));
  } else {
    return a < b;
  }
}
template <class T>
OPENMPS_CUDA_INLINE constexpr bool __builtin_mul_overflow(T a, T b, T* result) {
  *result = static_cast<T>(static_cast<unsigned long>(a) * static_cast<unsigned long>(b));
  if constexpr (openmps_nvidia::is_signed_integer<T>) {
    return static_cast<__int128>(a) * b != *result;
  } else {
    return static_cast<unsigned __int128>(a) * b != *result;
  }
}
