#include <metal_stdlib>
using namespace metal;

kernel void special(device uint* out, device bool* tests, device const float* in) {
  const float zero = in[0], one = in[1], inf = in[2], nan = in[3], tiny = in[4];
  uint k = 0;
  const float r[] = {one / zero, -one / zero, inf - inf, sqrt(-one), log(zero), exp(inf), exp(-inf),
                     fmin(nan, one), fmax(one, nan), min(nan, one), max(nan, -inf), copysign(zero, -one),
                     rint(2.5f * one), rint(3.5f * one), round(2.5f * one), round(-2.5f * one), floor(-0.5f * one),
                     fract(-0.25f * one), sign(-3 * one), sign(nan), saturate(nan), saturate(7 * one),
                     step(one, zero), clamp(nan, one, 2.0f), tiny * 0.5f, -zero, pow(zero, zero), pow(-2 * one, 3.0f), atan2(zero, -one),
                     mix(one, 3.0f, 0.25f), smoothstep(zero, one, 0.5f), fdim(3.0f, one), fdim(one, 3.0f), trunc(-1.9f * one)};
  for (uint j = 0; j < sizeof(r) / sizeof(r[0]); ++j) out[k++] = isnan(r[j]) ? 0x7fc00000u : as_type<uint>(r[j]);
  const bool t[] = {isnan(nan), isinf(-inf), isfinite(one), isfinite(inf), isnormal(tiny), signbit(-zero),
                    nan == nan, nan != nan, nan < one, !(nan >= one), isordered(one, nan), isunordered(one, nan)};
  for (uint j = 0; j < 12; ++j) tests[j] = t[j];
}
