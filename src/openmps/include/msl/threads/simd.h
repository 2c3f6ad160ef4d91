// The simd_ functions, on the primitives of lanes.h. A value of any scalar type travels between
// lanes as 32 or 64 bits, a vector element by element.
#pragma once

#include "barrier.h"
#include "../math/geometric.h"

namespace msl {
namespace openmps_detail {

template <class T>
OPENMPS_INLINE T shuffle_any(T value, unsigned lane) {
  if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T,
                              openmps_shuffle_u64(__builtin_bit_cast(unsigned long, value), lane));
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, openmps_shuffle_u32(__builtin_bit_cast(unsigned, value), lane));
  } else if constexpr (sizeof(T) == 2) {
    const unsigned bits = __builtin_bit_cast(unsigned short, value);
    return __builtin_bit_cast(T, static_cast<unsigned short>(openmps_shuffle_u32(bits, lane)));
  } else {
    const unsigned bits = __builtin_bit_cast(unsigned char, value);
    return __builtin_bit_cast(T, static_cast<unsigned char>(openmps_shuffle_u32(bits, lane)));
  }
}

// The value of `lane`; `otherwise` if it is outside 0 to 31 or not active.
template <class T>
OPENMPS_INLINE T shuffle_or(T value, unsigned lane, T otherwise) {
  const T moved = shuffle_any(value, lane & 31u);
  // Asked before any branch: inside one, only the lanes that took it would count.
  const unsigned active = openmps_active();
  const unsigned usable = static_cast<unsigned>(lane < 32u) & (active >> (lane & 31u)) & 1u;
  return usable != 0 ? moved : otherwise;
}

// Reductions and scans, carried as float, 32 bits or 64 bits. half and bfloat round once, at the
// end.
#define OPENMPS_CARRIED(name, float_name, word_name)                                       \
  template <class T>                                                                       \
  OPENMPS_INLINE T name(T value) {                                                         \
    if constexpr (is_float<T>) {                                                           \
      return static_cast<T>(openmps_##float_name##_f32(static_cast<float>(value)));        \
    } else if constexpr (sizeof(T) == 8) {                                                 \
      return static_cast<T>(openmps_##word_name##_u64(static_cast<unsigned long>(value))); \
    } else {                                                                               \
      return static_cast<T>(openmps_##word_name##_u32(static_cast<unsigned>(value)));      \
    }                                                                                      \
  }
#define OPENMPS_CARRIED_BITS(name)                                                           \
  template <class T>                                                                         \
  OPENMPS_INLINE T reduce_##name(T value) {                                                  \
    if constexpr (sizeof(T) == 8) {                                                          \
      return static_cast<T>(openmps_reduce_##name##_u64(static_cast<unsigned long>(value))); \
    } else {                                                                                 \
      return static_cast<T>(openmps_reduce_##name##_u32(static_cast<unsigned>(value)));      \
    }                                                                                        \
  }
OPENMPS_CARRIED(reduce_add, reduce_add, reduce_add)
OPENMPS_CARRIED(reduce_mul, reduce_mul, reduce_mul)
OPENMPS_CARRIED(reduce_signed_min, reduce_min, reduce_smin)
OPENMPS_CARRIED(reduce_signed_max, reduce_max, reduce_smax)
OPENMPS_CARRIED(reduce_unsigned_min, reduce_min, reduce_umin)
OPENMPS_CARRIED(reduce_unsigned_max, reduce_max, reduce_umax)
OPENMPS_CARRIED(scan_inclusive_add, scan_inclusive_add, scan_inclusive_add)
OPENMPS_CARRIED(scan_exclusive_add, scan_exclusive_add, scan_exclusive_add)
OPENMPS_CARRIED(scan_inclusive_mul, scan_inclusive_mul, scan_inclusive_mul)
OPENMPS_CARRIED(scan_exclusive_mul, scan_exclusive_mul, scan_exclusive_mul)
OPENMPS_CARRIED_BITS(and)
OPENMPS_CARRIED_BITS(or)
OPENMPS_CARRIED_BITS(xor)
#undef OPENMPS_CARRIED_BITS
#undef OPENMPS_CARRIED

template <class T>
OPENMPS_INLINE T reduce_min(T value) {
  if constexpr (metal::is_signed_v<T>) {
    return reduce_signed_min(value);
  } else {
    return reduce_unsigned_min(value);
  }
}
template <class T>
OPENMPS_INLINE T reduce_max(T value) {
  if constexpr (metal::is_signed_v<T>) {
    return reduce_signed_max(value);
  } else {
    return reduce_unsigned_max(value);
  }
}

}  // namespace openmps_detail

namespace metal {

// A function of a scalar, and the same for each element of a vector.
#define OPENMPS_LANEWISE(name, ...)                         \
  template <class T, OPENMPS_IF_NUMBER(T)>                  \
  OPENMPS_INLINE T name(T value) {                          \
    return __VA_ARGS__;                                     \
  }                                                         \
  template <class T, int N>                                 \
  OPENMPS_INLINE vec<T, N> name(const vec<T, N>& value) {   \
    vec<T, N> result;                                       \
    for (int i = 0; i < N; ++i) result[i] = name(value[i]); \
    return result;                                          \
  }
#define OPENMPS_LANEWISE_BY(name, parameter, ...)                           \
  template <class T, OPENMPS_IF_NUMBER(T)>                                  \
  OPENMPS_INLINE T name(T value, ushort parameter) {                        \
    return __VA_ARGS__;                                                     \
  }                                                                         \
  template <class T, int N>                                                 \
  OPENMPS_INLINE vec<T, N> name(const vec<T, N>& value, ushort parameter) { \
    vec<T, N> result;                                                       \
    for (int i = 0; i < N; ++i) result[i] = name(value[i], parameter);      \
    return result;                                                          \
  }
// Shifts lanes within segments of `modulo`; what comes in from outside is taken from `fill`.
#define OPENMPS_LANEWISE_FILL(name, segment, ...)                                            \
  template <class T, OPENMPS_IF_NUMBER(T)>                                                   \
  OPENMPS_INLINE T name(T value, openmps_detail::same_t<T> fill, ushort delta,               \
                        ushort modulo = segment) {                                           \
    const unsigned lane = openmps_lane();                                                    \
    const unsigned first = lane & ~(modulo - 1u);                                            \
    __VA_ARGS__                                                                              \
  }                                                                                          \
  template <class T, int N>                                                                  \
  OPENMPS_INLINE vec<T, N> name(const vec<T, N>& value,                                      \
                                const openmps_detail::same_t<vec<T, N>>& fill, ushort delta, \
                                ushort modulo = segment) {                                   \
    vec<T, N> result;                                                                        \
    for (int i = 0; i < N; ++i) result[i] = name(value[i], fill[i], delta, modulo);          \
    return result;                                                                           \
  }
#define OPENMPS_FILL_DOWN(...)                                                              \
  const unsigned source = lane - first + delta;                                             \
  if (__builtin_constant_p(fill)) {                                                         \
    return openmps_detail::shuffle_or(value, source < modulo ? first + source : 32u, fill); \
  }                                                                                         \
  const T from_fill = openmps_detail::shuffle_or(fill, first + source - modulo, fill);      \
  return openmps_detail::shuffle_or(value, source < modulo ? first + source : 32u,          \
                                    source < modulo ? fill : from_fill);
#define OPENMPS_FILL_UP(...)                                                                \
  const unsigned source = lane - first - delta;                                             \
  if (__builtin_constant_p(fill)) {                                                         \
    return openmps_detail::shuffle_or(value, source < modulo ? first + source : 32u, fill); \
  }                                                                                         \
  const T from_fill = openmps_detail::shuffle_or(fill, first + source + modulo, fill);      \
  return openmps_detail::shuffle_or(value, source < modulo ? first + source : 32u,          \
                                    source < modulo ? fill : from_fill);

OPENMPS_LANEWISE(simd_sum, openmps_detail::reduce_add(value))
OPENMPS_LANEWISE(simd_product, openmps_detail::reduce_mul(value))
OPENMPS_LANEWISE(simd_min, openmps_detail::reduce_min(value))
OPENMPS_LANEWISE(simd_max, openmps_detail::reduce_max(value))
OPENMPS_LANEWISE(simd_and, openmps_detail::reduce_and(value))
OPENMPS_LANEWISE(simd_or, openmps_detail::reduce_or(value))
OPENMPS_LANEWISE(simd_xor, openmps_detail::reduce_xor(value))
OPENMPS_LANEWISE(simd_prefix_inclusive_sum, openmps_detail::scan_inclusive_add(value))
OPENMPS_LANEWISE(simd_prefix_exclusive_sum, openmps_detail::scan_exclusive_add(value))
OPENMPS_LANEWISE(simd_prefix_inclusive_product, openmps_detail::scan_inclusive_mul(value))
OPENMPS_LANEWISE(simd_prefix_exclusive_product, openmps_detail::scan_exclusive_mul(value))

// From a lane that is not there, a thread gets its own value.
#define OPENMPS_FROM(...) openmps_detail::shuffle_or(value, __VA_ARGS__, value)
OPENMPS_LANEWISE_BY(simd_shuffle, lane, OPENMPS_FROM(lane))
OPENMPS_LANEWISE_BY(simd_shuffle_down, delta, OPENMPS_FROM(openmps_lane() + delta))
OPENMPS_LANEWISE_BY(simd_shuffle_up, delta, OPENMPS_FROM(openmps_lane() - delta))
OPENMPS_LANEWISE_BY(simd_shuffle_xor, mask, OPENMPS_FROM(openmps_lane() ^ mask))
OPENMPS_LANEWISE_BY(simd_shuffle_rotate_down, delta, OPENMPS_FROM((openmps_lane() + delta) & 31u))
OPENMPS_LANEWISE_BY(simd_shuffle_rotate_up, delta, OPENMPS_FROM((openmps_lane() - delta) & 31u))
OPENMPS_LANEWISE_BY(simd_broadcast, lane, OPENMPS_FROM(lane))
OPENMPS_LANEWISE(simd_broadcast_first,
                 openmps_detail::shuffle_any(value, __builtin_ctz(openmps_active())))
OPENMPS_LANEWISE_FILL(simd_shuffle_and_fill_down, 32, OPENMPS_FILL_DOWN())
OPENMPS_LANEWISE_FILL(simd_shuffle_and_fill_up, 32, OPENMPS_FILL_UP())

OPENMPS_INLINE bool simd_all(bool condition) { return openmps_ballot(!condition) == 0; }
OPENMPS_INLINE bool simd_any(bool condition) { return openmps_ballot(condition) != 0; }
OPENMPS_INLINE bool simd_is_first() {
  return openmps_lane() == static_cast<unsigned>(__builtin_ctz(openmps_active()));
}
OPENMPS_INLINE bool simd_is_helper_thread() { return false; }

class simd_vote {
 public:
  using vote_t = ulong;
  OPENMPS_INLINE explicit constexpr simd_vote(vote_t bits = 0) : bits_(bits) {}
  OPENMPS_INLINE explicit constexpr operator vote_t() const { return bits_; }
  OPENMPS_INLINE constexpr bool all() const { return (bits_ & 0xfffffffful) == 0xfffffffful; }
  OPENMPS_INLINE constexpr bool any() const { return bits_ != 0; }
#define OPENMPS_VOTE(op)                                                            \
  friend OPENMPS_INLINE constexpr simd_vote operator op(simd_vote a, simd_vote b) { \
    return simd_vote(a.bits_ op b.bits_);                                           \
  }
  OPENMPS_VOTE(&)
  OPENMPS_VOTE(|)
  OPENMPS_VOTE(^)
#undef OPENMPS_VOTE
  OPENMPS_INLINE constexpr simd_vote operator~() const { return simd_vote(~bits_ & 0xfffffffful); }

 private:
  vote_t bits_;
};
OPENMPS_INLINE simd_vote simd_ballot(bool condition) {
  return simd_vote(openmps_ballot(condition));
}
OPENMPS_INLINE simd_vote simd_active_threads_mask() { return simd_vote(openmps_active()); }

}  // namespace metal
}  // namespace msl
