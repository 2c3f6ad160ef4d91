// What the rewriter (msl/program.py) turns declarations into.
#pragma once

namespace msl {

// `threadgroup T x;`: bytes, because Metal runs no constructor for it. One per OS thread, which
// runs a whole threadgroup.
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
