// packed_float3 and its kin: vectors without padding, aligned as one element.
#pragma once

#include "vector.h"

namespace msl {
namespace openmps_vector {

template <class T, int N>
struct packed_elements;
template <class T>
struct packed_elements<T, 2> {
  T x, y;
};
template <class T>
struct packed_elements<T, 3> {
  T x, y, z;
};
template <class T>
struct packed_elements<T, 4> {
  T x, y, z, w;
};

template <class T, int N>
struct packed_vec : packed_elements<T, N> {
  using full = vec<T, N>;

  packed_vec() = default;
  OPENMPS_INLINE constexpr packed_vec(const full& v) : packed_elements<T, N>{} {
    for (int i = 0; i < N; ++i) (*this)[i] = v[i];
  }
  template <class A, OPENMPS_IF_NUMBER(A)>
  OPENMPS_INLINE constexpr packed_vec(A a) : packed_vec(full(a)) {}
  template <class A, class B, class... C>
  OPENMPS_INLINE constexpr packed_vec(const A& a, const B& b, const C&... c)
      : packed_vec(full(a, b, c...)) {}
  template <class U, metal::enable_if_t<!metal::is_same_v<U, T>, int> = 0>
  OPENMPS_INLINE explicit constexpr packed_vec(const vec<U, N>& v) : packed_vec(full(v)) {}

  OPENMPS_INLINE constexpr T& operator[](long i) { return (&this->x)[i]; }
  OPENMPS_INLINE constexpr const T& operator[](long i) const { return (&this->x)[i]; }

  OPENMPS_INLINE constexpr operator full() const {
    full result{};
    for (int i = 0; i < N; ++i) result[i] = (*this)[i];
    return result;
  }
  template <class U, metal::enable_if_t<!metal::is_same_v<U, T>, int> = 0>
  OPENMPS_INLINE explicit constexpr operator vec<U, N>() const {
    return vec<U, N>(static_cast<full>(*this));
  }
  template <int... I>
  OPENMPS_INLINE constexpr vec<T, sizeof...(I)> openmps_get() const {
    return static_cast<full>(*this).template openmps_get<I...>();
  }
  template <int... I>
  OPENMPS_INLINE constexpr swizzle<T, I...> openmps_ref() {
    return {&this->x};
  }

#define OPENMPS_PACKED(op)                                                                     \
  friend OPENMPS_INLINE constexpr auto operator op(const packed_vec& a, const packed_vec& b) { \
    return static_cast<full>(a) op static_cast<full>(b);                                       \
  }                                                                                            \
  friend OPENMPS_INLINE constexpr auto operator op(const packed_vec& a, const full& b) {       \
    return static_cast<full>(a) op b;                                                          \
  }                                                                                            \
  friend OPENMPS_INLINE constexpr auto operator op(const full& a, const packed_vec& b) {       \
    return a op static_cast<full>(b);                                                          \
  }                                                                                            \
  template <class A, OPENMPS_IF_NUMBER(A)>                                                     \
  friend OPENMPS_INLINE constexpr auto operator op(const packed_vec& a, A b) {                 \
    return static_cast<full>(a) op full(b);                                                    \
  }                                                                                            \
  template <class A, OPENMPS_IF_NUMBER(A)>                                                     \
  friend OPENMPS_INLINE constexpr auto operator op(A a, const packed_vec& b) {                 \
    return full(a) op static_cast<full>(b);                                                    \
  }
#define OPENMPS_PACKED_UPDATE(op)                                       \
  OPENMPS_PACKED(op)                                                    \
  OPENMPS_INLINE constexpr packed_vec& operator op##=(const full & b) { \
    return *this = packed_vec(static_cast<full>(*this) op b);           \
  }
  OPENMPS_PACKED_UPDATE(+)
  OPENMPS_PACKED_UPDATE(-)
  OPENMPS_PACKED_UPDATE(*)
  OPENMPS_PACKED_UPDATE(/)
  OPENMPS_PACKED_UPDATE(%)
  OPENMPS_PACKED_UPDATE(&)
  OPENMPS_PACKED_UPDATE(|)
  OPENMPS_PACKED_UPDATE(^)
  OPENMPS_PACKED(<<)
  OPENMPS_PACKED(>>)
  OPENMPS_PACKED(==)
  OPENMPS_PACKED(!=)
  OPENMPS_PACKED(<)
  OPENMPS_PACKED(<=)
  OPENMPS_PACKED(>)
  OPENMPS_PACKED(>=)
#undef OPENMPS_PACKED_UPDATE
#undef OPENMPS_PACKED
  friend OPENMPS_INLINE constexpr full operator-(const packed_vec& a) {
    return -static_cast<full>(a);
  }
};

}  // namespace openmps_vector

namespace metal {
using openmps_vector::packed_vec;
}

namespace openmps_types {

#define OPENMPS_PACKED_NAMES(name, T)                        \
  using packed_##name##2 = openmps_vector::packed_vec<T, 2>; \
  using packed_##name##3 = openmps_vector::packed_vec<T, 3>; \
  using packed_##name##4 = openmps_vector::packed_vec<T, 4>;
OPENMPS_PACKED_NAMES(bool, bool)
OPENMPS_PACKED_NAMES(char, char)
OPENMPS_PACKED_NAMES(uchar, unsigned char)
OPENMPS_PACKED_NAMES(short, short)
OPENMPS_PACKED_NAMES(ushort, unsigned short)
OPENMPS_PACKED_NAMES(int, int)
OPENMPS_PACKED_NAMES(uint, unsigned int)
OPENMPS_PACKED_NAMES(long, long)
OPENMPS_PACKED_NAMES(ulong, unsigned long)
OPENMPS_PACKED_NAMES(half, half)
OPENMPS_PACKED_NAMES(bfloat, bfloat)
OPENMPS_PACKED_NAMES(float, float)
#undef OPENMPS_PACKED_NAMES

}  // namespace openmps_types
}  // namespace msl
