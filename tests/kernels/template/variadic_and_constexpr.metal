#include <metal_stdlib>
using namespace metal;

template <typename... T>
constexpr uint bytes_of() { return (0u + ... + uint(sizeof(T))); }

template <typename T>
T total(T last) { return last; }
template <typename T, typename... Rest>
T total(T first, Rest... rest) { return first + T(total(rest...)); }

template <int N>
struct Power { static constant constexpr int value = 3 * Power<N - 1>::value; };
template <>
struct Power<0> { static constant constexpr int value = 1; };

template <typename T>
T kind(T x) {
  if constexpr (is_same_v<T, float>) {
    return x * 0.5f;
  } else if constexpr (sizeof(T) == 2) {
    return T(x + T(1));
  } else {
    return x << 1;
  }
}

template <float (*F)(float)>
float twice(float x) { return F(F(x)); }
float add_three(float x) { return x + 3; }

template <typename T, template <typename> class Box>
T open(Box<T> box) { return box.inside; }
template <typename T>
struct Crate { T inside; };

kernel void compute(device float* out, uint i [[thread_position_in_grid]]) {
  const float x = float(i);
  auto square = [](auto v) { return v * v; };
  float results[] = {float(bytes_of<char, float4, half>()), total(x, 2, 3.5f), float(Power<4>::value), kind(x), float(kind(half(x))),
                     float(kind(int(i))), twice<add_three>(x), open(Crate<float>{x + 9}), square(x) + float(square(int(i)))};
  for (uint k = 0; k < 9; ++k) out[9 * i + k] = results[k];
}
