// The primitives that threads of one simdgroup or threadgroup coordinate with. simd.h and matrix.h
// build all of Metal's functions on them. Three implementations: emit/lanes/ turns the calls into
// 32-lane vector code; the runtime defines them for one fibre per thread; cuda/lanes.h for a warp.
//
// "Active" means: the lanes that take part in this very call.
#pragma once

#ifdef __CUDACC_RTC__
#include "../cuda/lanes.h"
#include "../cuda/matrix.h"
#else

#if defined(__clang__)
#define OPENMPS_LANES __attribute__((convergent, nothrow))
#else
#define OPENMPS_LANES __attribute__((nothrow, noinline, noclone))
#endif

extern "C" {

// Waits for all threads of the threadgroup that have not returned.
OPENMPS_LANES void openmps_threadgroup_barrier();
// Orders memory within the simdgroup; a point where another simdgroup may run.
OPENMPS_LANES void openmps_simdgroup_barrier();

// One fibre per thread only: lanes that are still in a loop wait for each other before its next
// iteration.
OPENMPS_LANES void openmps_back_edge();
// One fibre per thread only: the number of the call that follows, in the program's order
// (emit/ir/call_numbers.py). Without it, calls are ordered by their addresses.
OPENMPS_LANES void openmps_at(unsigned number);

OPENMPS_LANES unsigned openmps_lane();        // this thread's lane, 0 to 31
OPENMPS_LANES unsigned openmps_active();      // a bit per active lane
OPENMPS_LANES unsigned openmps_ballot(bool);  // a bit per active lane that passes true

// The value that lane `lane & 31` passes. Unspecified bits if that lane is not active.
OPENMPS_LANES unsigned openmps_shuffle_u32(unsigned value, unsigned lane);
OPENMPS_LANES unsigned long openmps_shuffle_u64(unsigned long value, unsigned lane);

// Over the active lanes. Every other lane counts as the operation's identity (-0.0, 1, NaN for the
// float minimum and maximum, which ignore NaN). The order is a fixed tree: halves of 16, 8, 4, 2,
// 1: first v[i] op v[i+16] for i < 16, then v[i] op v[i+8] for i < 8, ..., so that results are the
// same everywhere.
OPENMPS_LANES float openmps_reduce_add_f32(float);
OPENMPS_LANES float openmps_reduce_mul_f32(float);
OPENMPS_LANES float openmps_reduce_min_f32(float);
OPENMPS_LANES float openmps_reduce_max_f32(float);
#define OPENMPS_REDUCE(width, type)                     \
  OPENMPS_LANES type openmps_reduce_add_##width(type);  \
  OPENMPS_LANES type openmps_reduce_mul_##width(type);  \
  OPENMPS_LANES type openmps_reduce_and_##width(type);  \
  OPENMPS_LANES type openmps_reduce_or_##width(type);   \
  OPENMPS_LANES type openmps_reduce_xor_##width(type);  \
  OPENMPS_LANES type openmps_reduce_umin_##width(type); \
  OPENMPS_LANES type openmps_reduce_umax_##width(type); \
  OPENMPS_LANES type openmps_reduce_smin_##width(type); \
  OPENMPS_LANES type openmps_reduce_smax_##width(type);
OPENMPS_REDUCE(u32, unsigned)
OPENMPS_REDUCE(u64, unsigned long)
#undef OPENMPS_REDUCE

// Prefix results over the active lanes in lane order, inactive ones as the identity. Kogge-Stone:
// for d = 1, 2, 4, 8, 16: v[i] = v[i-d] op v[i] where i >= d. Exclusive: the inclusive result of
// lane i-1, the identity (+0.0 or 1) in lane 0.
#define OPENMPS_SCAN(width, type)                              \
  OPENMPS_LANES type openmps_scan_inclusive_add_##width(type); \
  OPENMPS_LANES type openmps_scan_exclusive_add_##width(type); \
  OPENMPS_LANES type openmps_scan_inclusive_mul_##width(type); \
  OPENMPS_LANES type openmps_scan_exclusive_mul_##width(type);
OPENMPS_SCAN(f32, float)
OPENMPS_SCAN(u32, unsigned)
OPENMPS_SCAN(u64, unsigned long)
#undef OPENMPS_SCAN

// 8x8 matrices, spread over the lanes as Apple's hardware does: a lane with bits b4..b0 holds row
// (b4,b2,b1), columns 2*(b3,b0) and 2*(b3,b0)+1, as elements 0 and 1. All 32 lanes take part.
// `element` is a constant, 0 or 1: which of the lane's two elements is asked for.
OPENMPS_LANES float openmps_matrix_load_f32(const void* base, unsigned long elements_per_row,
                                            bool transpose, unsigned element);
OPENMPS_LANES unsigned short openmps_matrix_load_u16(const void* base,
                                                     unsigned long elements_per_row, bool transpose,
                                                     unsigned element);
OPENMPS_LANES void openmps_matrix_store_f32(float first, float second, void* base,
                                            unsigned long elements_per_row, bool transpose);
OPENMPS_LANES void openmps_matrix_store_u16(unsigned short first, unsigned short second, void* base,
                                            unsigned long elements_per_row, bool transpose);
// Element of a*b + c: fma(a[row][k], b[k][column], acc) for k = 0..7, starting from c.
OPENMPS_LANES float openmps_matrix_multiply_f32(float a0, float a1, float b0, float b1, float c,
                                                unsigned element);
}

#endif  // __CUDACC_RTC__
