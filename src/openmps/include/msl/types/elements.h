// How the elements of a vector lie in memory, and how the compiler passes them to functions.
#pragma once

#include "float16.h"

namespace msl {
namespace openmps_vector {

// On clang alignment comes from an empty member, not from alignas: kernels cast pointers that are
// aligned to less, and -fmax-type-align=8 then makes it assume no more than 8.
template <unsigned long Bytes>
struct aligner;
#define OPENMPS_ALIGNER(bytes, ...) \
  template <>                       \
  struct aligner<bytes> {           \
    using type = __VA_ARGS__;       \
  };
typedef unsigned char bytes16 __attribute__((vector_size(16)));
typedef unsigned char bytes32 __attribute__((vector_size(32)));
OPENMPS_ALIGNER(1, unsigned char)
OPENMPS_ALIGNER(2, unsigned short)
OPENMPS_ALIGNER(4, unsigned int)
OPENMPS_ALIGNER(8, unsigned long)
OPENMPS_ALIGNER(16, bytes16)
OPENMPS_ALIGNER(32, bytes32)
#undef OPENMPS_ALIGNER

// A member at an odd address makes x86-64's calling convention pass the object in memory. That is
// what inlining undoes best: in registers it would travel as pairs of elements, and neither the
// loop vectoriser nor emit/lanes/ wants to meet those. It takes no room.
#if defined(__clang__)
#define OPENMPS_ALIGNAS(bytes)
#define OPENMPS_ALIGNED(bytes) typename aligner<bytes>::type openmps_align[0];
#define OPENMPS_ODD bytes16 openmps_odd[0] __attribute__((packed));
#else
#define OPENMPS_ALIGNAS(bytes) alignas(bytes)
#define OPENMPS_ALIGNED(bytes)
#define OPENMPS_ODD
#endif

template <class T, int N, bool IsBuiltIn = !__is_class(T)>
struct elements;
#if defined(__CUDACC_RTC__) && __CUDACC_VER_MAJOR__ < 13
// This compiler finds no member of an unnamed struct in a template. Unnamed unions it knows.
#define OPENMPS_ELEMENTS(N, slots, members, parameters, initialisers)   \
  template <class T, bool IsBuiltIn>                                    \
  struct OPENMPS_ALIGNAS(slots * sizeof(T)) elements<T, N, IsBuiltIn> { \
    members elements() = default;                                       \
    OPENMPS_INLINE constexpr elements parameters : initialisers {}      \
  };
#define OPENMPS_LIST(...) __VA_ARGS__
#define OPENMPS_ONE(name, colour) \
  union {                         \
    T name;                       \
    T colour;                     \
  };
OPENMPS_ELEMENTS(2, 2, OPENMPS_ONE(x, r) OPENMPS_ONE(y, g), (T a, T b), OPENMPS_LIST(x(a), y(b)))
OPENMPS_ELEMENTS(3, 4, OPENMPS_ONE(x, r) OPENMPS_ONE(y, g) OPENMPS_ONE(z, b), (T a_, T b_, T c_),
                 OPENMPS_LIST(x(a_), y(b_), z(c_)))
OPENMPS_ELEMENTS(4, 4, OPENMPS_ONE(x, r) OPENMPS_ONE(y, g) OPENMPS_ONE(z, b) OPENMPS_ONE(w, a),
                 (T a_, T b_, T c_, T d_), OPENMPS_LIST(x(a_), y(b_), z(c_), w(d_)))
#undef OPENMPS_ONE
#undef OPENMPS_LIST
#else
// bfloat has constructors, which g++ does not allow in an unnamed struct: no r, g, b, a.
#define OPENMPS_ELEMENTS(N, slots, yzw, gba, parameters, initialisers) \
  template <class T>                                                   \
  struct OPENMPS_ALIGNAS(slots * sizeof(T)) elements<T, N, true> {     \
    OPENMPS_ALIGNED(slots * sizeof(T))                                 \
    union {                                                            \
      struct {                                                         \
        T x;                                                           \
        OPENMPS_ODD                                                    \
        T yzw;                                                         \
      };                                                               \
      struct {                                                         \
        T r, gba;                                                      \
      };                                                               \
    };                                                                 \
    elements() = default;                                              \
    OPENMPS_INLINE constexpr elements parameters : initialisers {}     \
  };                                                                   \
  template <class T>                                                   \
  struct OPENMPS_ALIGNAS(slots * sizeof(T)) elements<T, N, false> {    \
    OPENMPS_ALIGNED(slots * sizeof(T))                                 \
    T x;                                                               \
    OPENMPS_ODD                                                        \
    T yzw;                                                             \
    elements() = default;                                              \
    OPENMPS_INLINE constexpr elements parameters : initialisers {}     \
  };
#define OPENMPS_LIST(...) __VA_ARGS__
OPENMPS_ELEMENTS(2, 2, y, g, (T a, T b), OPENMPS_LIST(x(a), y(b)))
OPENMPS_ELEMENTS(3, 4, OPENMPS_LIST(y, z), OPENMPS_LIST(g, b), (T a, T b, T c),
                 OPENMPS_LIST(x(a), y(b), z(c)))
OPENMPS_ELEMENTS(4, 4, OPENMPS_LIST(y, z, w), OPENMPS_LIST(g, b, a), (T a, T b, T c, T d),
                 OPENMPS_LIST(x(a), y(b), z(c), w(d)))
#undef OPENMPS_LIST
#endif
#undef OPENMPS_ELEMENTS
#undef OPENMPS_ALIGNAS
#undef OPENMPS_ALIGNED
#undef OPENMPS_ODD

}  // namespace openmps_vector
}  // namespace msl
