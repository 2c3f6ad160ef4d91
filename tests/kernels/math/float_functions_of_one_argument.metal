#include <metal_stdlib>
using namespace metal;

kernel void unary(device const float* in, device float* out, constant uint& count,
                  uint i [[thread_position_in_grid]]) {
  const float x = in[i];
  uint k = 0;
#define PUT(f) out[count * k++ + i] = f(x);
  PUT(sin) PUT(cos) PUT(tan) PUT(asin) PUT(acos) PUT(atan) PUT(sinh) PUT(cosh) PUT(tanh)
  PUT(asinh) PUT(atanh) PUT(exp) PUT(exp2) PUT(exp10) PUT(fabs) PUT(floor) PUT(ceil) PUT(trunc)
  PUT(rint) PUT(round) PUT(metal::precise::exp) PUT(fast::cos) PUT(sinpi) PUT(cospi)
#undef PUT
}
