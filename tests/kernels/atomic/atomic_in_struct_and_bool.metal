#include <metal_stdlib>
using namespace metal;

struct State {
  uint pad[3];
  atomic_int counter;
  atomic_bool flag;
  atomic_uint words[2];
};

kernel void touch(device State& state, uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&state.counter, -2, memory_order_relaxed);
  if (i == 7) atomic_store_explicit(&state.flag, true, memory_order_relaxed);
  atomic_fetch_or_explicit(&state.words[i % 2], 1u << (i % 32), memory_order_relaxed);
}
