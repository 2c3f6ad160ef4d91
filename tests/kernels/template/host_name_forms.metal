#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void scaled(device T* data, constant T& by, uint i [[thread_position_in_grid]]) {
  data[i] *= by;
}
typedef decltype(scaled<float>) scaled_t;

template [[host_name("by_parameters")]] kernel void scaled<int>(device int* data, constant int& by, uint i);
template [[host_name("by_decltype")]] kernel decltype(scaled<half>) scaled<half>;
template [[host_name("by_typedef")]] kernel scaled_t scaled<float>;

[[host_name("renamed")]] kernel void plain(device uchar* data, constant uchar& by,
                                           uint i [[thread_position_in_grid]]) {
  data[i] += by;
}

void kernel late(device short* data, constant short& by, uint i [[thread_position_in_grid]]) {
  data[i] -= by;
}

[[kernel]] void attribute(device long* data, constant long& by, uint i [[thread_position_in_grid]]) {
  data[i] ^= by;
}
