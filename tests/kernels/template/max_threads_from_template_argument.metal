#include <metal_stdlib>
using namespace metal;

template <typename T, int ROWS, int COLUMNS>
[[kernel, max_total_threads_per_threadgroup(ROWS * COLUMNS)]] void fill(
    device T* out, uint i [[thread_position_in_grid]], uint size [[threads_per_threadgroup]]) {
  out[i] = T(size);
}
template [[host_name("fill_8_4")]] [[kernel]] void fill<int, 8, 4>(device int*, uint, uint);
template [[host_name("fill_4_16")]] [[kernel]] decltype(fill<uint, 4, 16>) fill<uint, 4, 16>;
