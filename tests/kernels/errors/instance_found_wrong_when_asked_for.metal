#include <metal_stdlib>
using namespace metal;

// With more kernels than are checked at once, each is checked when it is asked for.
template <typename T, int N>
kernel void f(device T* out, uint i [[thread_position_in_grid]]) {
  out[i] = T(N).missing_member;
}
#define ONE(n) template [[host_name("f_" #n)]] kernel void f<float2, n>(device float2*, uint);
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7)
TEN(1) TEN(2) TEN(3) TEN(4)
