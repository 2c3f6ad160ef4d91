#include <metal_stdlib>
using namespace metal;

template <typename T>
struct pointee {};
template <typename T>
struct pointee<device T*> { using type = remove_cv_t<T>; };
template <typename T>
struct pointee<threadgroup T*> { using type = remove_cv_t<T>; };
template <typename T>
struct pointee<thread T*> { using type = remove_cv_t<T>; };
template <typename T>
struct pointee<constant T*> { using type = remove_cv_t<T>; };

template <typename P>
typename pointee<P>::type twice(P p) {
  return p[0] + p[0];
}

kernel void deduce(device half* out, constant int* numbers, device long* longs) {
  threadgroup float shared[1];
  shared[0] = 1.25;
  ushort own[1] = {40000};
  out[0] = half(twice(&numbers[0]));
  out[1] = half(twice((threadgroup float*)shared));
  out[2] = half(twice(&own[0]));
  longs[0] = twice(longs + 1);
}
