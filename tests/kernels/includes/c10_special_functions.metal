#include <c10/metal/special_math.h>
#include <c10/metal/random.h>

kernel void special(device const float* in, device float* out, device uint* bits,
                    uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]) {
  out[i] = c10::metal::erf(in[i]);
  out[n + i] = c10::metal::log_gamma(in[i] + 3);
  out[2 * n + i] = c10::metal::expm1f(in[i]);
  bits[i] = c10::metal::rand(7, i) < 1.0f;
}
