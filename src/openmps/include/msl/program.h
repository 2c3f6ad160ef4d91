// What the rewriter (msl/program.py) turns declarations into.
#pragma once

namespace msl {

// How a variable in threadgroup memory is declared. On a CPU: one per OS thread, which runs a whole
// threadgroup. "Used", because other threads of the group change it while this one is in a barrier:
// without that, a compiler may think that it knows all who do.
#ifdef __CUDACC_RTC__
#define OPENMPS_SHARED __shared__
#else
#define OPENMPS_SHARED __attribute__((used)) static thread_local
#endif

// At the back-edge of a loop (msl/back_edges.py).
#ifdef OPENMPS_BACK_EDGES
#define OPENMPS_BACK_EDGE openmps_back_edge()
#define OPENMPS_BACK_EDGE_AND openmps_back_edge(),
#else
#define OPENMPS_BACK_EDGE
#define OPENMPS_BACK_EDGE_AND
#endif

// A literal that is one arm of `c ? a : b` (msl/rewrite.py). Where half is a class, it must become
// what the other arm is. The second arm is told the first; the first finds out.
#ifdef __CUDACC_RTC__
namespace openmps_detail {
template <class Literal>
struct first_arm {
  Literal value;
  template <class T, metal::enable_if_t<is_integer<Literal> || is_float<typename shape<T>::element>,
                                        int> = 0>
  OPENMPS_INLINE constexpr operator T() const {
    return T(value);
  }
};
template <class First, class Literal>
OPENMPS_INLINE constexpr auto second_arm(Literal value) {
  if constexpr (metal::is_same_v<metal::decay_t<First>, half>) {
    return half(value);
  } else {
    return value;
  }
}
}  // namespace openmps_detail
#define OPENMPS_FIRST_ARM(...) \
  (::msl::openmps_detail::first_arm<decltype(__VA_ARGS__)>{__VA_ARGS__})
#define OPENMPS_SECOND_ARM(literal, ...) \
  (::msl::openmps_detail::second_arm<decltype(__VA_ARGS__)>(literal))
#else
#define OPENMPS_FIRST_ARM(...) __VA_ARGS__
#define OPENMPS_SECOND_ARM(literal, ...) literal
#endif

// `threadgroup T x;`: bytes, because Metal runs no constructor for it.
template <class T>
struct openmps_threadgroup {
  alignas(alignof(T) > 16 ? alignof(T) : 16) unsigned char bytes[sizeof(T)];
  __attribute__((always_inline)) T& object() { return *reinterpret_cast<T*>(bytes); }
};

// `constant T x [[function_constant(n)]];`: nobody can set it from Python, so it is zero and
// is_function_constant_defined(x) is false. Specialise both to set one.
template <int Index>
inline constexpr bool openmps_constant_set = false;
template <int Index, class T>
constexpr T openmps_constant_value() {
  return T(0);
}

}  // namespace msl
