#include <metal_stdlib>
using namespace metal;

// A program may call its kernels as the library calls its functions.
kernel void exp2(device float* y, constant float* x, uint i [[thread_position_in_grid]]) {
  y[i] = metal::exp2(x[i]) + 1;
}

namespace mine {
template <typename T>
kernel void max(device T* y, constant T* x, uint i [[thread_position_in_grid]]) {
  y[i] = metal::max(x[i], T(1));
}
template [[host_name("max_float")]] kernel void max<float>(
    device float*, constant float*, uint);
}  // namespace mine
