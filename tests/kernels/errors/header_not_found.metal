#include <metal_stdlib>
#include "my/own/header.h"
using namespace metal;

kernel void f(device float* out, uint i [[thread_position_in_grid]]) { out[i] = 1; }
