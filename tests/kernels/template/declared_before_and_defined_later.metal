#include <metal_stdlib>
using namespace metal;

template <typename T>
T helper(T x);
template <typename T>
kernel void use(device T* out, constant T& add, uint i);
int forward(int x);

template [[host_name("use_int")]] kernel void use<int>(device int* out, constant int& add, uint i);

template <typename T>
kernel void use(device T* out [[buffer(1)]], constant T& add [[buffer(0)]],
                uint i [[thread_position_in_grid]]) {
  out[i] = helper(T(i)) + add + forward(1);
}
template <typename T>
T helper(T x) { return x * 2; }
int forward(int x) { return x + 40; }
