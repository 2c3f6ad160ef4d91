#include <metal_stdlib>
using namespace metal;

template <typename T, int N>
T total(vec<T, N> v) {
  T sum = 0;
  for (int k = 0; k < N; ++k) sum += v[k];
  return sum;
}

template <typename T, int N>
struct Block {
  metal::vec<T, N> first;
  array<vec<T, N>, 2> rest;
};

template <typename T, int N>
[[host_name("block")]] [[kernel]] void sums(device const T* in, device T* out,
                                            uint i [[thread_position_in_grid]]) {
  Block<T, N> block;
  for (int k = 0; k < N; ++k) block.first[k] = in[3 * N * i + k];
  for (int j = 0; j < 2; ++j)
    for (int k = 0; k < N; ++k) block.rest[j][k] = in[3 * N * i + N * (j + 1) + k];
  out[i] = total<T, N>(block.first) * total<T, N>(block.rest[0] - block.rest[1]);
}

template [[host_name("of_3_floats")]] [[kernel]] void sums<float, 3>(device const float*, device float*, uint);
template [[host_name("of_2_halves")]] [[kernel]] void sums<half, 2>(device const half*, device half*, uint);
template [[host_name("of_1_int")]] [[kernel]] void sums<int, 1>(device const int*, device int*, uint);
