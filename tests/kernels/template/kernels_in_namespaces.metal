#include <metal_stdlib>

namespace outer {
using namespace metal;
constant int base = 100;
namespace inner {
constant int step = 3;
kernel void count(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = base + step * int(i);
}
template <typename T>
kernel void halve(device T* out, uint i [[thread_position_in_grid]]) {
  out[i] = T(base) / T(2) + T(step);
}
template [[host_name("halve_float")]] kernel void halve<float>(device float*, uint);
}  // namespace inner
}  // namespace outer

template [[host_name("halve_int")]] kernel void outer::inner::halve<int>(device int*, uint);
