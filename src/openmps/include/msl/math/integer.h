// metal_integer, for every integer type and vectors of them.
#pragma once

#include "../types/limits.h"
#include "minmax.h"

namespace msl {
namespace metal {

OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T popcount(T x) {
  return static_cast<T>(__builtin_popcountl(static_cast<make_unsigned_t<T>>(x)));
}
OPENMPS_LIFT_1(popcount)

// Of zero: the number of bits.
OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T clz(T x) {
  constexpr int bits = sizeof(T) * 8;
  const auto u = static_cast<make_unsigned_t<T>>(x);
  if constexpr (bits == 64) {
    return static_cast<T>(u == 0 ? bits : __builtin_clzl(u));
  } else {
    return static_cast<T>(u == 0 ? bits : __builtin_clz(u) - (32 - bits));
  }
}
OPENMPS_LIFT_1(clz)
OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T ctz(T x) {
  constexpr int bits = sizeof(T) * 8;
  const auto u = static_cast<make_unsigned_t<T>>(x);
  if constexpr (bits == 64) {
    return static_cast<T>(u == 0 ? bits : __builtin_ctzl(u));
  } else {
    return static_cast<T>(u == 0 ? bits : __builtin_ctz(u));
  }
}
OPENMPS_LIFT_1(ctz)

OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T reverse_bits(T x) {
  unsigned long u = static_cast<make_unsigned_t<T>>(x);
  u = ((u >> 1) & 0x5555555555555555ul) | ((u & 0x5555555555555555ul) << 1);
  u = ((u >> 2) & 0x3333333333333333ul) | ((u & 0x3333333333333333ul) << 2);
  u = ((u >> 4) & 0x0f0f0f0f0f0f0f0ful) | ((u & 0x0f0f0f0f0f0f0f0ful) << 4);
  return static_cast<T>(__builtin_bswap64(u) >> (64 - sizeof(T) * 8));
}
OPENMPS_LIFT_1(reverse_bits)

OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T rotate(T x, openmps_detail::same_t<T> count) {
  using U = make_unsigned_t<T>;
  constexpr unsigned mask = sizeof(T) * 8 - 1;
  const unsigned n = static_cast<unsigned>(count) & mask;
  const U u = static_cast<U>(x);
  return static_cast<T>(static_cast<U>(u << n) | static_cast<U>(u >> ((0u - n) & mask)));
}
OPENMPS_LIFT_2(rotate)

OPENMPS_INTEGERS(T)
OPENMPS_INLINE constexpr make_unsigned_t<T> absdiff(T a, openmps_detail::same_t<T> b) {
  using U = make_unsigned_t<T>;
  return static_cast<U>(a > b ? static_cast<U>(a) - static_cast<U>(b)
                              : static_cast<U>(b) - static_cast<U>(a));
}
template <class T, int N>
OPENMPS_INLINE constexpr vec<make_unsigned_t<T>, N> absdiff(const vec<T, N>& a,
                                                            const vec<T, N>& b) {
  vec<make_unsigned_t<T>, N> result{};
  for (int i = 0; i < N; ++i) result[i] = absdiff(a[i], b[i]);
  return result;
}

OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T addsat(T a, openmps_detail::same_t<T> b) {
  T sum{};
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < T(0) ? numeric_limits<T>::min() : numeric_limits<T>::max();
}
OPENMPS_LIFT_2(addsat)
OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T subsat(T a, openmps_detail::same_t<T> b) {
  T difference{};
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return is_unsigned_v<T> || b > T(0) ? numeric_limits<T>::min() : numeric_limits<T>::max();
}
OPENMPS_LIFT_2(subsat)

// (a + b) / 2 and (a + b + 1) / 2 without overflow.
OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T hadd(T a, openmps_detail::same_t<T> b) {
  return static_cast<T>((a >> 1) + (b >> 1) + (a & b & 1));
}
OPENMPS_LIFT_2(hadd)
OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T rhadd(T a, openmps_detail::same_t<T> b) {
  return static_cast<T>((a >> 1) + (b >> 1) + ((a | b) & 1));
}
OPENMPS_LIFT_2(rhadd)

OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T mulhi(T a, openmps_detail::same_t<T> b) {
  if constexpr (sizeof(T) < 8) {
    return static_cast<T>((static_cast<long>(a) * static_cast<long>(b)) >> (sizeof(T) * 8));
  } else if constexpr (is_signed_v<T>) {
    return static_cast<T>((static_cast<__int128>(a) * b) >> 64);
  } else {
    return static_cast<T>((static_cast<unsigned __int128>(a) * b) >> 64);
  }
}
OPENMPS_LIFT_2(mulhi)
OPENMPS_INTEGERS(T)
OPENMPS_INLINE constexpr T madhi(T a, openmps_detail::same_t<T> b, openmps_detail::same_t<T> c) {
  return static_cast<T>(openmps_detail::sum(mulhi(a, b), c));
}
OPENMPS_LIFT_3(madhi)
OPENMPS_INTEGERS(T)
OPENMPS_INLINE constexpr T madsat(T a, openmps_detail::same_t<T> b, openmps_detail::same_t<T> c) {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) {
    const __int128 sum = static_cast<__int128>(a) * b + c;
    if (sum >= numeric_limits<T>::min() && sum <= numeric_limits<T>::max()) {
      return static_cast<T>(sum);
    }
    return sum < 0 ? numeric_limits<T>::min() : numeric_limits<T>::max();
  }
  return addsat(product, c);
}
OPENMPS_LIFT_3(madsat)

// The low 24 bits of each operand, with sign where there is one.
OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T mul24(T a, openmps_detail::same_t<T> b) {
  constexpr unsigned unused = sizeof(T) * 8 - 24;
  using U = make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(static_cast<T>(static_cast<U>(a) << unused) >> unused) *
                        static_cast<U>(static_cast<T>(static_cast<U>(b) << unused) >> unused));
}
OPENMPS_LIFT_2(mul24)
OPENMPS_INTEGERS(T)
OPENMPS_INLINE constexpr T mad24(T a, openmps_detail::same_t<T> b, openmps_detail::same_t<T> c) {
  return static_cast<T>(openmps_detail::sum(mul24(a, b), c));
}
OPENMPS_LIFT_3(mad24)

// `bits` bits from `offset` on. Signed results extend the sign.
OPENMPS_INTEGERS(T) OPENMPS_INLINE constexpr T extract_bits(T x, uint offset, uint bits) {
  constexpr uint width = sizeof(T) * 8;
  if (bits == 0) return T(0);
  const auto top = static_cast<make_unsigned_t<T>>(static_cast<make_unsigned_t<T>>(x)
                                                   << (width - offset - bits));
  return static_cast<T>(static_cast<T>(top) >> (width - bits));
}
OPENMPS_INTEGERS(T)
OPENMPS_INLINE constexpr T insert_bits(T base, openmps_detail::same_t<T> insert, uint offset,
                                       uint bits) {
  using U = make_unsigned_t<T>;
  if (bits == 0) return base;
  const U mask =
      static_cast<U>(static_cast<U>(static_cast<U>(~U(0)) >> (sizeof(T) * 8 - bits)) << offset);
  return static_cast<T>((static_cast<U>(base) & static_cast<U>(~mask)) |
                        (static_cast<U>(static_cast<U>(insert) << offset) & mask));
}
template <class T, int N>
OPENMPS_INLINE constexpr vec<T, N> extract_bits(const vec<T, N>& x, uint offset, uint bits) {
  vec<T, N> result{};
  for (int i = 0; i < N; ++i) result[i] = extract_bits(x[i], offset, bits);
  return result;
}
template <class T, int N>
OPENMPS_INLINE constexpr vec<T, N> insert_bits(const vec<T, N>& base, const vec<T, N>& insert,
                                               uint offset, uint bits) {
  vec<T, N> result{};
  for (int i = 0; i < N; ++i) result[i] = insert_bits(base[i], insert[i], offset, bits);
  return result;
}

}  // namespace metal
}  // namespace msl
