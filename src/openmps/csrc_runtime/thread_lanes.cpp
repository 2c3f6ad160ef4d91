// The functions of lanes.h for one fibre per thread. Orders and identities are as written there, so
// that results agree with the 32-lane code bit for bit.
#include <math.h>
#include <string.h>

#include "thread_style.h"

#include "../include/msl/threads/lanes.h"

namespace openmps {

namespace {

template <class T>
uint64_t to_bits(T value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(value));
  return bits;
}

template <class T>
T from_bits(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// Meets the other lanes at `site` with these arguments; the result is what `execute` left.
template <class Result, class... Arguments>
Result call(const void* site, Execute* execute, Arguments... arguments) {
  const Lane lane = this_lane();
  unsigned count = 0;
  ((lane.simdgroup->in[count++][lane.index] = to_bits(arguments)), ...);
  meet(lane, site, execute);
  return from_bits<Result>(lane.simdgroup->out[lane.index]);
}

template <class Function>
void for_each_lane(uint32_t active, Function function) {
  for (; active; active &= active - 1) function(static_cast<unsigned>(__builtin_ctz(active)));
}

// ---- operations: their value for a lane that is not active, and for two lanes

template <class T>
struct Add {
  static T identity() { return T(0); }
  static T of_nothing() { return T(0); }
  static T apply(T a, T b) { return a + b; }
};
template <>
float Add<float>::identity() {
  return -0.0f;  // -0 + x is x for every x; 0 + x is not
}

template <class T>
struct Mul {
  static T identity() { return T(1); }
  static T of_nothing() { return T(1); }
  static T apply(T a, T b) { return a * b; }
};

struct MinFloat {
  static float identity() { return __builtin_nanf(""); }
  static float apply(float a, float b) { return a != a ? b : b < a ? b : a; }
};

struct MaxFloat {
  static float identity() { return __builtin_nanf(""); }
  static float apply(float a, float b) { return a != a ? b : b > a ? b : a; }
};

template <class T>
struct And {
  static T identity() { return ~T(0); }
  static T apply(T a, T b) { return a & b; }
};

template <class T>
struct Or {
  static T identity() { return 0; }
  static T apply(T a, T b) { return a | b; }
};

template <class T>
struct Xor {
  static T identity() { return 0; }
  static T apply(T a, T b) { return a ^ b; }
};

template <class T>
struct UnsignedMin {
  static T identity() { return ~T(0); }
  static T apply(T a, T b) { return b < a ? b : a; }
};

template <class T>
struct UnsignedMax {
  static T identity() { return 0; }
  static T apply(T a, T b) { return b > a ? b : a; }
};

// Signed order is unsigned order with the sign bit turned.
template <class T>
constexpr T kSign = T(1) << (sizeof(T) * 8 - 1);

template <class T>
struct SignedMin {
  static T identity() { return ~kSign<T>; }
  static T apply(T a, T b) { return (b ^ kSign<T>) < (a ^ kSign<T>) ? b : a; }
};

template <class T>
struct SignedMax {
  static T identity() { return kSign<T>; }
  static T apply(T a, T b) { return (b ^ kSign<T>) > (a ^ kSign<T>) ? b : a; }
};

// ---- what each call does

template <class T, template <class> class Operation>
void gather(const Simdgroup* simdgroup, uint32_t active, T values[kSimdWidth]) {
  for (unsigned lane = 0; lane < kSimdWidth; ++lane) {
    const bool present = active >> lane & 1;
    values[lane] = present ? from_bits<T>(simdgroup->in[0][lane]) : Operation<T>::identity();
  }
}

template <class T, template <class> class Operation>
void reduce(Simdgroup* simdgroup, uint32_t active) {
  T values[kSimdWidth];
  gather<T, Operation>(simdgroup, active, values);
  for (unsigned half = kSimdWidth / 2; half > 0; half /= 2) {
    for (unsigned i = 0; i < half; ++i) {
      values[i] = Operation<T>::apply(values[i], values[i + half]);
    }
  }
  for_each_lane(active, [&](unsigned lane) { simdgroup->out[lane] = to_bits(values[0]); });
}

template <class T, template <class> class Operation, bool kExclusive>
void scan(Simdgroup* simdgroup, uint32_t active) {
  T values[kSimdWidth];
  gather<T, Operation>(simdgroup, active, values);
  for (unsigned distance = 1; distance < kSimdWidth; distance *= 2) {
    for (unsigned i = kSimdWidth - 1; i >= distance; --i) {
      values[i] = Operation<T>::apply(values[i - distance], values[i]);
    }
  }
  for_each_lane(active, [&](unsigned lane) {
    const T before = lane == 0 ? Operation<T>::of_nothing() : values[lane - 1];
    simdgroup->out[lane] = to_bits(kExclusive ? before : values[lane]);
  });
}

void nothing(Simdgroup*, uint32_t) {}

void active_lanes(Simdgroup* simdgroup, uint32_t active) {
  for_each_lane(active, [&](unsigned lane) { simdgroup->out[lane] = active; });
}

void ballot(Simdgroup* simdgroup, uint32_t active) {
  uint32_t votes = 0;
  for_each_lane(active, [&](unsigned lane) {
    if (from_bits<bool>(simdgroup->in[0][lane])) votes |= 1u << lane;
  });
  for_each_lane(active, [&](unsigned lane) { simdgroup->out[lane] = votes; });
}

void shuffle(Simdgroup* simdgroup, uint32_t active) {
  for_each_lane(active, [&](unsigned lane) {
    const unsigned from = simdgroup->in[1][lane] & (kSimdWidth - 1);
    simdgroup->out[lane] = simdgroup->in[0][active >> from & 1 ? from : lane];
  });
}

// ---- 8x8 matrices

unsigned matrix_row(unsigned lane) { return (lane >> 4 & 1) * 4 + (lane >> 1 & 3); }

unsigned matrix_column(unsigned lane) { return (lane >> 3 & 1) * 4 + (lane & 1) * 2; }

uint64_t matrix_offset(unsigned lane, unsigned element, uint64_t elements_per_row, bool transpose) {
  const unsigned row = matrix_row(lane), column = matrix_column(lane) + element;
  return transpose ? column * elements_per_row + row : row * elements_per_row + column;
}

// in: base, elements per row, transpose, element
template <class T>
void matrix_load(Simdgroup* simdgroup, uint32_t active) {
  for_each_lane(active, [&](unsigned lane) {
    const auto& in = simdgroup->in;
    const unsigned element = static_cast<unsigned>(in[3][lane]);
    const uint64_t offset = matrix_offset(lane, element, in[1][lane], from_bits<bool>(in[2][lane]));
    T value;  // Metal aligns matrices to their elements, C++ code here need not rely on it
    memcpy(&value, reinterpret_cast<const char*>(in[0][lane]) + offset * sizeof(T), sizeof(T));
    simdgroup->out[lane] = to_bits(value);
  });
}

// in: first, second, base, elements per row, transpose
template <class T>
void matrix_store(Simdgroup* simdgroup, uint32_t active) {
  for_each_lane(active, [&](unsigned lane) {
    const auto& in = simdgroup->in;
    for (unsigned element = 0; element < 2; ++element) {
      const bool transpose = from_bits<bool>(in[4][lane]);
      const uint64_t offset = matrix_offset(lane, element, in[3][lane], transpose);
      const T value = from_bits<T>(in[element][lane]);
      memcpy(reinterpret_cast<char*>(in[2][lane]) + offset * sizeof(T), &value, sizeof(T));
    }
  });
}

// in: a0, a1, b0, b1, c, element
void matrix_multiply(Simdgroup* simdgroup, uint32_t active) {
  float a[8][8] = {}, b[8][8] = {};
  for_each_lane(active, [&](unsigned lane) {
    const unsigned row = matrix_row(lane), column = matrix_column(lane);
    for (unsigned element = 0; element < 2; ++element) {
      a[row][column + element] = from_bits<float>(simdgroup->in[element][lane]);
      b[row][column + element] = from_bits<float>(simdgroup->in[2 + element][lane]);
    }
  });
  for_each_lane(active, [&](unsigned lane) {
    const unsigned row = matrix_row(lane);
    const unsigned column = matrix_column(lane) + static_cast<unsigned>(simdgroup->in[5][lane]);
    float sum = from_bits<float>(simdgroup->in[4][lane]);
    for (unsigned k = 0; k < 8; ++k) sum = fmaf(a[row][k], b[k][column], sum);
    simdgroup->out[lane] = to_bits(sum);
  });
}

template <class>
using MinFloatOf = MinFloat;
template <class>
using MaxFloatOf = MaxFloat;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Each function passes its own return address: that is the call site in the kernel.
#define SITE __builtin_return_address(0)

OPENMPS_LANES void openmps_threadgroup_barrier() { wait_at_barrier(); }

OPENMPS_LANES void openmps_simdgroup_barrier() { meet(this_lane(), SITE, nothing); }

OPENMPS_LANES void openmps_at(unsigned number) {
  const Lane lane = this_lane();
  lane.simdgroup->number[lane.index] = number;
}

OPENMPS_LANES void openmps_back_edge() { meet(this_lane(), SITE, execute_back_edge); }

OPENMPS_LANES unsigned openmps_lane() { return this_lane().index; }

OPENMPS_LANES unsigned openmps_active() { return call<unsigned>(SITE, active_lanes); }

OPENMPS_LANES unsigned openmps_ballot(bool vote) { return call<unsigned>(SITE, ballot, vote); }

OPENMPS_LANES unsigned openmps_shuffle_u32(unsigned value, unsigned lane) {
  return call<unsigned>(SITE, shuffle, value, lane);
}

OPENMPS_LANES unsigned long openmps_shuffle_u64(unsigned long value, unsigned lane) {
  return call<unsigned long>(SITE, shuffle, value, lane);
}

#define REDUCE(name, type, Operation)                        \
  OPENMPS_LANES type openmps_reduce_##name(type value) {     \
    return call<type>(SITE, reduce<type, Operation>, value); \
  }
REDUCE(add_f32, float, Add)
REDUCE(mul_f32, float, Mul)
REDUCE(min_f32, float, MinFloatOf)
REDUCE(max_f32, float, MaxFloatOf)
#define REDUCE_INTEGER(width, type)       \
  REDUCE(add_##width, type, Add)          \
  REDUCE(mul_##width, type, Mul)          \
  REDUCE(and_##width, type, And)          \
  REDUCE(or_##width, type, Or)            \
  REDUCE(xor_##width, type, Xor)          \
  REDUCE(umin_##width, type, UnsignedMin) \
  REDUCE(umax_##width, type, UnsignedMax) \
  REDUCE(smin_##width, type, SignedMin)   \
  REDUCE(smax_##width, type, SignedMax)
REDUCE_INTEGER(u32, unsigned)
REDUCE_INTEGER(u64, unsigned long)

#define SCAN(name, type, Operation)                               \
  OPENMPS_LANES type openmps_scan_inclusive_##name(type value) {  \
    return call<type>(SITE, scan<type, Operation, false>, value); \
  }                                                               \
  OPENMPS_LANES type openmps_scan_exclusive_##name(type value) {  \
    return call<type>(SITE, scan<type, Operation, true>, value);  \
  }
SCAN(add_f32, float, Add)
SCAN(mul_f32, float, Mul)
SCAN(add_u32, unsigned, Add)
SCAN(mul_u32, unsigned, Mul)
SCAN(add_u64, unsigned long, Add)
SCAN(mul_u64, unsigned long, Mul)

OPENMPS_LANES float openmps_matrix_load_f32(const void* base, unsigned long elements_per_row,
                                            bool transpose, unsigned element) {
  return call<float>(SITE, matrix_load<float>, base, elements_per_row, transpose, element);
}

OPENMPS_LANES unsigned short openmps_matrix_load_u16(const void* base,
                                                     unsigned long elements_per_row, bool transpose,
                                                     unsigned element) {
  return call<unsigned short>(SITE, matrix_load<unsigned short>, base, elements_per_row, transpose,
                              element);
}

OPENMPS_LANES void openmps_matrix_store_f32(float first, float second, void* base,
                                            unsigned long elements_per_row, bool transpose) {
  call<int>(SITE, matrix_store<float>, first, second, base, elements_per_row, transpose);
}

OPENMPS_LANES void openmps_matrix_store_u16(unsigned short first, unsigned short second, void* base,
                                            unsigned long elements_per_row, bool transpose) {
  call<int>(SITE, matrix_store<unsigned short>, first, second, base, elements_per_row, transpose);
}

OPENMPS_LANES float openmps_matrix_multiply_f32(float a0, float a1, float b0, float b1, float c,
                                                unsigned element) {
  return call<float>(SITE, matrix_multiply, a0, a1, b0, b1, c, element);
}

#undef SITE
#undef REDUCE
#undef REDUCE_INTEGER
#undef SCAN
}  // extern "C"
#pragma GCC visibility pop

}  // namespace openmps
