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

// Names and no functions: CUDA's own functions may be made of what has these names in NVRTC (its
// copysignf is), and would then call themselves without end, which makes a kernel of nothing.
#define __builtin_acosf ::acosf
#define __builtin_acoshf ::acoshf
#define __builtin_asinf ::asinf
#define __builtin_asinhf ::asinhf
#define __builtin_atan2f ::atan2f
#define __builtin_atanf ::atanf
#define __builtin_atanhf ::atanhf
#define __builtin_ceilf ::ceilf
#define __builtin_cosf ::cosf
#define __builtin_coshf ::coshf
#define __builtin_exp10f ::exp10f
#define __builtin_expf ::expf
#define __builtin_floorf ::floorf
#define __builtin_fmaf ::fmaf
#define __builtin_fmodf ::fmodf
#define __builtin_frexpf ::frexpf
#define __builtin_ilogbf ::ilogbf
#define __builtin_ldexpf ::ldexpf
#define __builtin_log10f ::log10f
#define __builtin_logf ::logf
#define __builtin_nextafterf ::nextafterf
#define __builtin_powf ::powf
#define __builtin_rintf ::rintf
#define __builtin_roundf ::roundf
#define __builtin_sinf ::sinf
#define __builtin_sinhf ::sinhf
#define __builtin_sqrtf ::sqrtf
#define __builtin_tanf ::tanf
#define __builtin_truncf ::truncf

#define __builtin_add_overflow ::openmps_nvidia::add_overflow
#define __builtin_bswap64 ::openmps_nvidia::bswap64
#define __builtin_clz ::openmps_nvidia::clz
#define __builtin_clzl ::openmps_nvidia::clzl
#define __builtin_copysignf ::openmps_nvidia::copysignf
#define __builtin_ctz ::openmps_nvidia::ctz
#define __builtin_ctzl ::openmps_nvidia::ctzl
#define __builtin_fabsf ::openmps_nvidia::fabsf
#define __builtin_fmaxf ::openmps_nvidia::fmaxf
#define __builtin_fminf ::openmps_nvidia::fminf
#define __builtin_huge_valf ::openmps_nvidia::huge_valf
#define __builtin_mul_overflow ::openmps_nvidia::mul_overflow
#define __builtin_nanf ::openmps_nvidia::nanf
#define __builtin_popcountl ::openmps_nvidia::popcountl
#define __builtin_sub_overflow ::openmps_nvidia::sub_overflow

namespace openmps_nvidia {

OPENMPS_CUDA_INLINE constexpr float huge_valf() { return __builtin_bit_cast(float, 0x7f800000); }
OPENMPS_CUDA_INLINE constexpr float nanf(const char*) {
  return __builtin_bit_cast(float, 0x7fc00000);
}
OPENMPS_CUDA_INLINE constexpr float fabsf(float x) {
  if (OPENMPS_IN_CONSTANT)
    return __builtin_bit_cast(float, __builtin_bit_cast(int, x) & 0x7fffffff);
  return ::fabsf(x);
}
OPENMPS_CUDA_INLINE constexpr float fminf(float a, float b) {
  if (OPENMPS_IN_CONSTANT) return a != a || b < a ? b : a;
  return ::fminf(a, b);
}
OPENMPS_CUDA_INLINE constexpr float fmaxf(float a, float b) {
  if (OPENMPS_IN_CONSTANT) return a != a || b > a ? b : a;
  return ::fmaxf(a, b);
}

OPENMPS_CUDA_INLINE float copysignf(float size, float sign) {
  return ::__uint_as_float((::__float_as_uint(size) & 0x7fffffffu) |
                           (::__float_as_uint(sign) & 0x80000000u));
}

OPENMPS_CUDA_INLINE constexpr int popcountl(unsigned long x) {
  if (OPENMPS_IN_CONSTANT) {
    int count = 0;
    for (; x != 0; x &= x - 1) ++count;
    return count;
  }
  return ::__popcll(x);
}
OPENMPS_CUDA_INLINE constexpr int clzl(unsigned long x) {
  if (OPENMPS_IN_CONSTANT) {
    int count = 64;
    for (; x != 0; x >>= 1) --count;
    return count;
  }
  return ::__clzll(static_cast<long long>(x));
}
OPENMPS_CUDA_INLINE constexpr int clz(unsigned x) {
  if (OPENMPS_IN_CONSTANT) return clzl(x) - 32;
  return ::__clz(static_cast<int>(x));
}
OPENMPS_CUDA_INLINE constexpr int ctzl(unsigned long x) {
  if (OPENMPS_IN_CONSTANT) return 63 - clzl(x & (0ul - x));
  return ::__ffsll(static_cast<long long>(x)) - 1;
}
OPENMPS_CUDA_INLINE constexpr int ctz(unsigned x) {
  if (OPENMPS_IN_CONSTANT) return ctzl(x);
  return ::__ffs(static_cast<int>(x)) - 1;
}
OPENMPS_CUDA_INLINE constexpr unsigned long bswap64(unsigned long x) {
  x = ((x >> 8) & 0x00ff00ff00ff00fful) | ((x & 0x00ff00ff00ff00fful) << 8);
  x = ((x >> 16) & 0x0000ffff0000fffful) | ((x & 0x0000ffff0000fffful) << 16);
  return (x >> 32) | (x << 32);
}

// The result's bits are right in any case; each tells whether the true result has others.
template <class T>
inline constexpr bool is_signed_integer = T(-1) < T(0);
template <class T>
OPENMPS_CUDA_INLINE constexpr bool add_overflow(T a, T b, T* result) {
  *result = static_cast<T>(static_cast<unsigned long>(a) + static_cast<unsigned long>(b));
  if constexpr (is_signed_integer<T>) {
    return (*result < a) != (b < T(0));
  } else {
    return *result < a;
  }
}
template <class T>
OPENMPS_CUDA_INLINE constexpr bool sub_overflow(T a, T b, T* result) {
  *result = static_cast<T>(static_cast<unsigned long>(a) - static_cast<unsigned long>(b));
  if constexpr (is_signed_integer<T>) {
    return (*result > a) != (b < T(0));
  } else {
    return a < b;
  }
}
template <class T>
OPENMPS_CUDA_INLINE constexpr bool mul_overflow(T a, T b, T* result) {
  *result = static_cast<T>(static_cast<unsigned long>(a) * static_cast<unsigned long>(b));
  if constexpr (is_signed_integer<T>) {
    return static_cast<__int128>(a) * b != *result;
  } else {
    return static_cast<unsigned __int128>(a) * b != *result;
  }
}

}  // namespace openmps_nvidia
