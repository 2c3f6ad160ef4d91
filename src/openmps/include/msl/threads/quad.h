// The quad_ functions: four neighbouring lanes of a simdgroup.
#pragma once

#include "simd.h"

namespace msl {
namespace openmps_detail {

OPENMPS_INLINE unsigned quad_lane() { return openmps_lane() & 3u; }
OPENMPS_INLINE unsigned quad_first() { return openmps_lane() & ~3u; }
OPENMPS_INLINE unsigned quad_bits(unsigned simd_bits) { return (simd_bits >> quad_first()) & 15u; }

// The value of a lane of the quad; `otherwise` if there is none or it is not active.
template <class T>
OPENMPS_INLINE T quad_or(T value, unsigned lane, T otherwise) {
  return shuffle_or(value, lane < 4u ? quad_first() + lane : 32u, otherwise);
}

struct plus {
  template <class T>
  OPENMPS_INLINE T operator()(T a, T b) const {
    return static_cast<T>(sum(a, b));
  }
};
struct times {
  template <class T>
  OPENMPS_INLINE T operator()(T a, T b) const {
    return static_cast<T>(product(a, b));
  }
};
struct lesser {
  template <class T>
  OPENMPS_INLINE T operator()(T a, T b) const {
    return metal::min(a, b);
  }
};
struct greater {
  template <class T>
  OPENMPS_INLINE T operator()(T a, T b) const {
    return metal::max(a, b);
  }
};
struct both {
  template <class T>
  OPENMPS_INLINE T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct either {
  template <class T>
  OPENMPS_INLINE T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct one_of {
  template <class T>
  OPENMPS_INLINE T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

// half and bfloat are carried as float.
template <class T>
using quad_carrier = metal::conditional_t<is_float<T>, float, T>;

// Over the active lanes below `end`, in order of lanes; `identity` if there is none.
template <class Operation, class T>
OPENMPS_INLINE T quad_fold(T value, unsigned end, quad_carrier<T> identity) {
  const unsigned active = quad_bits(openmps_active());
  quad_carrier<T> result = identity;
  bool empty = true;
  for (unsigned lane = 0; lane < 4; ++lane) {
    const auto other = static_cast<quad_carrier<T>>(shuffle_any(value, quad_first() + lane));
    const bool counts = lane < end && ((active >> lane) & 1u);
    const auto joined = Operation()(result, other);
    result = counts ? (empty ? other : joined) : result;
    empty = empty && !counts;
  }
  return static_cast<T>(result);
}

}  // namespace openmps_detail

namespace metal {

#define OPENMPS_QUAD(name, operation, end, identity) \
  OPENMPS_LANEWISE(name, openmps_detail::quad_fold<openmps_detail::operation>(value, end, identity))
OPENMPS_QUAD(quad_sum, plus, 4u, 0)
OPENMPS_QUAD(quad_product, times, 4u, 1)
OPENMPS_QUAD(quad_min, lesser, 4u, 0)
OPENMPS_QUAD(quad_max, greater, 4u, 0)
OPENMPS_QUAD(quad_and, both, 4u, 0)
OPENMPS_QUAD(quad_or, either, 4u, 0)
OPENMPS_QUAD(quad_xor, one_of, 4u, 0)
OPENMPS_QUAD(quad_prefix_inclusive_sum, plus, openmps_detail::quad_lane() + 1u, 0)
OPENMPS_QUAD(quad_prefix_exclusive_sum, plus, openmps_detail::quad_lane(), 0)
OPENMPS_QUAD(quad_prefix_inclusive_product, times, openmps_detail::quad_lane() + 1u, 1)
OPENMPS_QUAD(quad_prefix_exclusive_product, times, openmps_detail::quad_lane(), 1)
#undef OPENMPS_QUAD

#define OPENMPS_QUAD_FROM(...) openmps_detail::quad_or(value, __VA_ARGS__, value)
OPENMPS_LANEWISE_BY(quad_shuffle, lane, OPENMPS_QUAD_FROM(lane))
OPENMPS_LANEWISE_BY(quad_shuffle_down, delta,
                    OPENMPS_QUAD_FROM(openmps_detail::quad_lane() + delta))
OPENMPS_LANEWISE_BY(quad_shuffle_up, delta, OPENMPS_QUAD_FROM(openmps_detail::quad_lane() - delta))
OPENMPS_LANEWISE_BY(quad_shuffle_xor, mask, OPENMPS_QUAD_FROM(openmps_detail::quad_lane() ^ mask))
OPENMPS_LANEWISE_BY(quad_shuffle_rotate_down, delta,
                    OPENMPS_QUAD_FROM((openmps_detail::quad_lane() + delta) & 3u))
OPENMPS_LANEWISE_BY(quad_shuffle_rotate_up, delta,
                    OPENMPS_QUAD_FROM((openmps_detail::quad_lane() - delta) & 3u))
OPENMPS_LANEWISE_BY(quad_broadcast, lane, OPENMPS_QUAD_FROM(lane))
OPENMPS_LANEWISE(quad_broadcast_first,
                 OPENMPS_QUAD_FROM(__builtin_ctz(openmps_detail::quad_bits(openmps_active()))))
OPENMPS_LANEWISE_FILL(quad_shuffle_and_fill_down, 4, OPENMPS_FILL_DOWN())
OPENMPS_LANEWISE_FILL(quad_shuffle_and_fill_up, 4, OPENMPS_FILL_UP())
#undef OPENMPS_QUAD_FROM

OPENMPS_INLINE bool quad_all(bool condition) {
  return openmps_detail::quad_bits(openmps_ballot(!condition)) == 0;
}
OPENMPS_INLINE bool quad_any(bool condition) {
  return openmps_detail::quad_bits(openmps_ballot(condition)) != 0;
}
OPENMPS_INLINE bool quad_is_first() {
  return openmps_detail::quad_lane() ==
         static_cast<unsigned>(__builtin_ctz(openmps_detail::quad_bits(openmps_active())));
}
OPENMPS_INLINE bool quad_is_helper_thread() { return false; }

class quad_vote {
 public:
  using vote_t = ushort;
  OPENMPS_INLINE explicit constexpr quad_vote(vote_t bits = 0) : bits_(bits) {}
  OPENMPS_INLINE explicit constexpr operator vote_t() const { return bits_; }
  OPENMPS_INLINE constexpr bool all() const { return (bits_ & 15u) == 15u; }
  OPENMPS_INLINE constexpr bool any() const { return bits_ != 0; }

 private:
  vote_t bits_;
};
OPENMPS_INLINE quad_vote quad_ballot(bool condition) {
  return quad_vote(static_cast<ushort>(openmps_detail::quad_bits(openmps_ballot(condition))));
}
OPENMPS_INLINE quad_vote quad_active_threads_mask() {
  return quad_vote(static_cast<ushort>(openmps_detail::quad_bits(openmps_active())));
}

#undef OPENMPS_LANEWISE
#undef OPENMPS_LANEWISE_BY
#undef OPENMPS_LANEWISE_FILL
#undef OPENMPS_FILL_DOWN
#undef OPENMPS_FILL_UP
#undef OPENMPS_FROM

}  // namespace metal
}  // namespace msl
