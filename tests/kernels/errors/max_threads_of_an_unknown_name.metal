#include <metal_stdlib>
using namespace metal;

[[kernel, max_total_threads_per_threadgroup(2 * rows)]] void fill(
    device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = 1;
}
