#include <metal_stdlib>
using namespace metal;

#define P(k) device const int *a##k, device const int *b##k, device const int *c##k, device const int *d##k, device const int *e##k
kernel void many(device int* out, P(0), P(1), P(2), P(3), P(4), P(5), uint i [[thread_position_in_grid]]) {
#define S(k) a##k[i] + b##k[i] * 2 + c##k[i] * 3 + d##k[i] * 4 + e##k[i] * 5
  out[i] = S(0) + (S(1)) * 10 + (S(2)) * 100 + (S(3)) * 1000 + (S(4)) * 10000 + (S(5)) * 100000;
}
