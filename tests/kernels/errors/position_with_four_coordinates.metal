#include <metal_stdlib>
using namespace metal;

kernel void fill(device int* out, ulong4 at [[thread_position_in_grid]]) { out[at.x] = 1; }
