#include <metal_stdlib>
using namespace metal;

#define FOUR(n) device int *a##n, device int *b##n, device int *c##n, device int *d##n,
kernel void f(FOUR(0) FOUR(1) FOUR(2) FOUR(3) FOUR(4) FOUR(5) FOUR(6)
              device int* e, device int* g, device int* h,
              device int* one_too_many, uint i [[thread_position_in_grid]]) {
  a0[i] = 1;
}
