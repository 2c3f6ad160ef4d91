#include <metal_stdlib>
using namespace metal;

kernel void two(device const float* in, device float* out, device int* powers,
                uint i [[thread_position_in_grid]]) {
  const float x = in[i];
  int exponent;
  out[8 * i] = frexp(x, exponent);
  powers[2 * i] = exponent;
  float whole;
  out[8 * i + 1] = modf(x, whole);
  out[8 * i + 2] = whole;
  float cosine;
  out[8 * i + 3] = sincos(x, cosine);
  out[8 * i + 4] = cosine;
  out[8 * i + 5] = ldexp(x, 5);
  out[8 * i + 6] = nextafter(x, INFINITY);
  powers[2 * i + 1] = ilogb(x);
  float2 wholes;
  out[8 * i + 7] = modf(float2(x, -x), wholes).y + wholes.x;
}
