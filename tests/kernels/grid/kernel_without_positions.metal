#include <metal_stdlib>
using namespace metal;

kernel void nothing(device atomic_uint& count) {
  atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed);
}
