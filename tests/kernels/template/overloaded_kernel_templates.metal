#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void apply(device T* out, constant T& a, uint i [[thread_position_in_grid]]) {
  out[i] = a * T(i);
}
template <typename T>
kernel void apply(device T* out, constant T& a, constant T& b, uint i [[thread_position_in_grid]]) {
  out[i] = a * T(i) + b;
}
template <typename T>
kernel void apply(device T* out, constant T* many, uint i [[thread_position_in_grid]]) {
  out[i] = many[i % 2];
}

template [[host_name("one")]] kernel void apply<float>(device float* out, constant float& a, uint i);
template [[host_name("two")]] kernel void apply<float>(device float* out, constant float& a, constant float& b, uint i);
template [[host_name("many")]] kernel void apply<float>(device float* out, constant float* many, uint i);
