// Functions that compilers for CPUs cannot vectorise, made of those they can (exp, log and sin have
// vector forms in libmvec), to within a few units in the last place, as those are.
#pragma once

#include "../types/constants.h"
#include "../types/traits.h"

namespace msl {
namespace openmps_detail {

#ifdef __CUDACC_RTC__
OPENMPS_INLINE float sin_pi(float x) { return ::sinpif(x); }
OPENMPS_INLINE float cos_pi(float x) { return ::cospif(x); }
OPENMPS_INLINE float hyperbolic_tangent(float x) { return ::tanhf(x); }
OPENMPS_INLINE float exp_base_2(float x) { return ::exp2f(x); }
OPENMPS_INLINE float log_base_2(float x) { return ::log2f(x); }
#else
// sin(pi x) for |x| <= 1/2, and the reductions to there; exact where the result is 0 or 1.
OPENMPS_INLINE float sin_half_turn(float x) { return __builtin_sinf(M_PI_F * x); }
OPENMPS_INLINE float reduce_turns(float x) { return x - 2.0f * __builtin_rintf(0.5f * x); }
OPENMPS_INLINE float sin_pi(float x) {
  const float turn = reduce_turns(x);
  const float mirrored = __builtin_copysignf(1.0f, turn) - turn;
  return sin_half_turn(__builtin_fabsf(turn) > 0.5f ? mirrored : turn);
}
OPENMPS_INLINE float cos_pi(float x) {
  return sin_half_turn(0.5f - __builtin_fabsf(reduce_turns(x)));
}

// Below 5/8 a polynomial in x^2, fitted to (tanh(x) / x - 1) / x^2 at Chebyshev points.
OPENMPS_INLINE float hyperbolic_tangent(float x) {
  const float size = __builtin_fabsf(x), z = x * x;
  float p = 0x1.2d0664p-9f;
  p = p * z - 0x1.118ac4p-7f;
  p = p * z + 0x1.64af40p-6f;
  p = p * z - 0x1.ba0932p-5f;
  p = p * z + 0x1.1110eap-3f;
  p = p * z - 0x1.555556p-2f;
  // From 10 on the result is 1; libmvec is slow where exp overflows.
  const float bounded = size > 10.0f ? 10.0f : size;
  const float large = 1.0f - 2.0f / (__builtin_expf(2.0f * bounded) + 1.0f);
  return __builtin_copysignf(size < 0.625f ? size + size * (z * p) : large, x);
}

// 2^n for -126 <= n <= 127.
OPENMPS_INLINE float power_of_two(int n) {
  return __builtin_bit_cast(float, static_cast<unsigned>(n + 127) << 23);
}
// The whole part goes to the exponent, in two steps for the sake of subnormal results.
OPENMPS_INLINE float exp_base_2(float x) {
  const float bounded = x < -252.0f ? -252.0f : x > 254.0f ? 254.0f : x;
  const float whole = __builtin_rintf(bounded);
  const int n = static_cast<int>(whole == whole ? whole : 0.0f);
  const float part = __builtin_expf((bounded - whole) * M_LN2_F);
  return part * power_of_two(n >> 1) * power_of_two(n - (n >> 1));
}
// x = m 2^e with m around 1, so that powers of two give whole numbers.
OPENMPS_INLINE float log_base_2(float x) {
  const bool subnormal = x < FLT_MIN;
  const int bits = __builtin_bit_cast(int, subnormal ? x * 0x1p23f : x);
  const int e = (bits - 0x3f3504f3) >> 23;
  const float m = __builtin_bit_cast(float, bits - e * 0x800000);
  const float result = static_cast<float>(subnormal ? e - 23 : e) + __builtin_logf(m) * M_LOG2E_F;
  const float special = x == 0.0f ? -INFINITY : x > 0.0f ? x : NAN;
  return x > 0.0f && x < INFINITY ? result : special;
}

#endif  // __CUDACC_RTC__

OPENMPS_INLINE float fraction(float x) {
  return __builtin_fminf(x - __builtin_floorf(x), 0x1.fffffep-1f);
}

}  // namespace openmps_detail
}  // namespace msl
