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

// Where a loop turns (msl/turns.py).
#ifdef OPENMPS_TURNS
#define OPENMPS_TURN openmps_turn()
#define OPENMPS_TURN_AND openmps_turn(),
#else
#define OPENMPS_TURN
#define OPENMPS_TURN_AND
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
