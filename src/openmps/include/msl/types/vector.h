// Metal's vectors: vec<T, N>, laid out as on a Mac (a vector of three takes the room of four).
// `v.zw` is written v.openmps_get<2, 3>() by the front end, or v.openmps_ref<2, 3>() where it is
// assigned to.
#pragma once

#include "elements.h"
#include "wrapping.h"

namespace msl {
namespace openmps_vector {

using openmps_detail::is_number;
using openmps_detail::shape;

// Appends a scalar, or the elements of a vector, to `out`.
template <class T, class A>
OPENMPS_INLINE constexpr T* append(T* out, const A& a) {
  if constexpr (shape<A>::size == 1 && !__is_same(A, vec<typename shape<A>::element, 1>)) {
    *out++ = OPENMPS_CONVERT(T, a);
  } else {
    for (int i = 0; i < shape<A>::size; ++i) *out++ = OPENMPS_CONVERT(T, a[i]);
  }
  return out;
}
template <class T, int N>
struct parts {
  T at[N];
  template <class... A>
  OPENMPS_INLINE explicit constexpr parts(const A&... a) : at{} {
    T* out = at;
    ((out = append<T>(out, a)), ...);
  }
};

// An assignable choice of elements.
template <class T, int... I>
struct swizzle {
  using value = vec<T, sizeof...(I)>;
  T* first;
  OPENMPS_INLINE constexpr operator value() const { return value(first[I]...); }
  OPENMPS_INLINE constexpr swizzle& operator=(const value& from) {
    int i = 0;
    ((first[I] = from[i++]), ...);
    return *this;
  }
  OPENMPS_INLINE constexpr swizzle& operator=(const swizzle& from) {
    return *this = static_cast<value>(from);
  }
#define OPENMPS_UPDATE(op)                                               \
  OPENMPS_INLINE constexpr swizzle& operator op##=(const value & from) { \
    return *this = static_cast<value>(*this) op from;                    \
  }
  OPENMPS_UPDATE(+)
  OPENMPS_UPDATE(-)
  OPENMPS_UPDATE(*)
  OPENMPS_UPDATE(/)
  OPENMPS_UPDATE(%)
  OPENMPS_UPDATE(&)
  OPENMPS_UPDATE(|)
  OPENMPS_UPDATE(^)
  OPENMPS_UPDATE(<<)
  OPENMPS_UPDATE(>>)
#undef OPENMPS_UPDATE
};

// How vectors are taken. NVRTC gets the value: it would load element by element, where an operator
// of half lies between two loads.
#ifdef __CUDACC_RTC__
#define OPENMPS_TAKE(...) __VA_ARGS__
#else
#define OPENMPS_TAKE(...) const __VA_ARGS__&
#endif

// How each operator treats one pair of elements. Shifts use the low bits of the count, as in Metal.
#define OPENMPS_VALUE(op, p, q) T(p op q)
#define OPENMPS_WRAPPED(op, p, q) \
  T(openmps_detail::without_sign(p) op openmps_detail::without_sign(q))
#define OPENMPS_TEST(op, p, q) bool(p op q)
#define OPENMPS_DIVIDE(op, p, q) T(openmps_detail::quotient(p, q))
#define OPENMPS_REST(op, p, q) T(openmps_detail::rest(p, q))
#define OPENMPS_SHIFT(op, p, q) T(p op(q& T(sizeof(T) * 8 - 1)))
#define OPENMPS_SIGN(op, p, q) T(op openmps_detail::without_sign(p))
#define OPENMPS_NOT(op, p, q) bool(op p)

#define OPENMPS_BINARY(EACH, how, op)                                                         \
  friend OPENMPS_INLINE constexpr vec operator op(OPENMPS_TAKE(vec) a, OPENMPS_TAKE(vec) b) { \
    return vec(EACH(how, op));                                                                \
  }                                                                                           \
  OPENMPS_INLINE constexpr vec& operator op##=(OPENMPS_TAKE(vec) b) { return *this = *this op b; }
#define OPENMPS_COMPARE(EACH, op)                                                     \
  friend OPENMPS_INLINE constexpr vec<bool, width> operator op(OPENMPS_TAKE(vec) a,   \
                                                               OPENMPS_TAKE(vec) b) { \
    return vec<bool, width>(EACH(OPENMPS_TEST, op));                                  \
  }
#define OPENMPS_UNARY(EACH, Result, how, op)                                \
  friend OPENMPS_INLINE constexpr Result operator op(OPENMPS_TAKE(vec) a) { \
    return Result(EACH(how, op));                                           \
  }
#define OPENMPS_VECTOR_OPERATORS(EACH)                                      \
  OPENMPS_BINARY(EACH, OPENMPS_WRAPPED, +)                                  \
  OPENMPS_BINARY(EACH, OPENMPS_WRAPPED, -)                                  \
  OPENMPS_BINARY(EACH, OPENMPS_WRAPPED, *)                                  \
  OPENMPS_BINARY(EACH, OPENMPS_DIVIDE, /)                                   \
  OPENMPS_BINARY(EACH, OPENMPS_REST, %)                                     \
  OPENMPS_BINARY(EACH, OPENMPS_VALUE, &)                                    \
  OPENMPS_BINARY(EACH, OPENMPS_VALUE, |)                                    \
  OPENMPS_BINARY(EACH, OPENMPS_VALUE, ^)                                    \
  OPENMPS_BINARY(EACH, OPENMPS_SHIFT, <<)                                   \
  OPENMPS_BINARY(EACH, OPENMPS_SHIFT, >>)                                   \
  OPENMPS_COMPARE(EACH, ==)                                                 \
  OPENMPS_COMPARE(EACH, !=)                                                 \
  OPENMPS_COMPARE(EACH, <)                                                  \
  OPENMPS_COMPARE(EACH, <=)                                                 \
  OPENMPS_COMPARE(EACH, >)                                                  \
  OPENMPS_COMPARE(EACH, >=)                                                 \
  OPENMPS_COMPARE(EACH, &&)                                                 \
  OPENMPS_COMPARE(EACH, ||)                                                 \
  OPENMPS_UNARY(EACH, vec, OPENMPS_SIGN, +)                                 \
  OPENMPS_UNARY(EACH, vec, OPENMPS_SIGN, -)                                 \
  OPENMPS_UNARY(EACH, vec, OPENMPS_SIGN, ~)                                 \
  OPENMPS_UNARY(EACH, OPENMPS_BOOLS, OPENMPS_NOT, !)                        \
  OPENMPS_INLINE constexpr vec& operator++() { return *this += vec(T(1)); } \
  OPENMPS_INLINE constexpr vec& operator--() { return *this -= vec(T(1)); } \
  OPENMPS_INLINE constexpr vec operator++(int) {                            \
    const vec old = *this;                                                  \
    ++*this;                                                                \
    return old;                                                             \
  }                                                                         \
  OPENMPS_INLINE constexpr vec operator--(int) {                            \
    const vec old = *this;                                                  \
    --*this;                                                                \
    return old;                                                             \
  }
#define OPENMPS_BOOLS vec<bool, width>

// Elements by number. In a constant expression there is no arithmetic on addresses.
#define OPENMPS_VECTOR_ACCESS                                                  \
  OPENMPS_INLINE constexpr T& operator[](long i) {                             \
    return __builtin_is_constant_evaluated() ? pick(*this, i) : (&this->x)[i]; \
  }                                                                            \
  OPENMPS_INLINE constexpr const T& operator[](long i) const {                 \
    return __builtin_is_constant_evaluated() ? pick(*this, i) : (&this->x)[i]; \
  }                                                                            \
  template <int... I>                                                          \
  OPENMPS_INLINE constexpr vec<T, sizeof...(I)> openmps_get() const {          \
    return vec<T, sizeof...(I)>(pick(*this, I)...);                            \
  }                                                                            \
  template <int... I>                                                          \
  OPENMPS_INLINE constexpr swizzle<T, I...> openmps_ref() {                    \
    return {&this->x};                                                         \
  }

#define OPENMPS_IF_NUMBER(A) metal::enable_if_t<openmps_detail::is_number<A>, int> = 0

// A number becomes a vector by itself, but not a bfloat one of other elements: given a bfloat, a
// function for float must win over one for float2.
template <class A, class T>
inline constexpr bool spreads = !metal::is_same_v<A, bfloat> || metal::is_same_v<T, bfloat>;
#define OPENMPS_IF_SPREADS(A) \
  metal::enable_if_t<openmps_detail::is_number<A> && spreads<A, T>, int> = 0
#define OPENMPS_IF_SPREADS_EXPLICITLY(A) \
  metal::enable_if_t<openmps_detail::is_number<A> && !spreads<A, T>, long> = 0

// The first constructor is the fast path; the others take what their element counts allow. Too few
// elements (`uint4 v = {a, b, c}`) leave the rest zero.
#define OPENMPS_EACH1(how, op) how(op, a.x, b.x)
template <class T>
struct vec<T, 1> {
  static constexpr int width = 1;
  T x;
  vec() = default;
  template <class A, OPENMPS_IF_SPREADS(A)>
  OPENMPS_INLINE constexpr vec(A a) : x(OPENMPS_CONVERT(T, a)) {}
  template <class A, OPENMPS_IF_SPREADS_EXPLICITLY(A)>
  OPENMPS_INLINE explicit constexpr vec(A a) : x(OPENMPS_CONVERT(T, a)) {}
  template <class U, metal::enable_if_t<!metal::is_same_v<U, T>, int> = 0>
  OPENMPS_INLINE explicit constexpr vec(const vec<U, 1>& v) : x(OPENMPS_CONVERT(T, v.x)) {}
  OPENMPS_VECTOR_OPERATORS(OPENMPS_EACH1)
  OPENMPS_VECTOR_ACCESS

 private:
  template <class V>
  static OPENMPS_INLINE constexpr auto& pick(V& v, long) {
    return v.x;
  }
};

#define OPENMPS_EACH2(how, op) how(op, a.x, b.x), how(op, a.y, b.y)
template <class T>
struct vec<T, 2> : elements<T, 2> {
  static constexpr int width = 2;
  using base = elements<T, 2>;
  vec() = default;
  OPENMPS_INLINE constexpr vec(T a, T b) : base(a, b) {}
  template <class A, class B,
            metal::enable_if_t<shape<A>::size == 1 && shape<B>::size == 1, int> = 0>
  OPENMPS_INLINE constexpr vec(const A& a, const B& b)
      : base(OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, b)) {}
  template <class A, OPENMPS_IF_SPREADS(A)>
  OPENMPS_INLINE constexpr vec(A a) : vec(OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, a)) {}
  template <class A, OPENMPS_IF_SPREADS_EXPLICITLY(A)>
  OPENMPS_INLINE explicit constexpr vec(A a) : vec(OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, a)) {}
  template <class U, metal::enable_if_t<!metal::is_same_v<U, T>, int> = 0>
  OPENMPS_INLINE explicit constexpr vec(OPENMPS_TAKE(vec<U, 2>) v)
      : base(OPENMPS_CONVERT(T, v.x), OPENMPS_CONVERT(T, v.y)) {}
  OPENMPS_VECTOR_OPERATORS(OPENMPS_EACH2)
  OPENMPS_VECTOR_ACCESS

 private:
  template <class V>
  static OPENMPS_INLINE constexpr auto& pick(V& v, long i) {
    return i == 0 ? v.x : v.y;
  }
};

#define OPENMPS_EACH3(how, op) how(op, a.x, b.x), how(op, a.y, b.y), how(op, a.z, b.z)
template <class T>
struct vec<T, 3> : elements<T, 3> {
  static constexpr int width = 3;
  using base = elements<T, 3>;
  vec() = default;
  OPENMPS_INLINE constexpr vec(T a, T b, T c) : base(a, b, c) {}
  template <class A, class B, class C,
            metal::enable_if_t<shape<A>::size + shape<B>::size + shape<C>::size == 3, int> = 0>
  OPENMPS_INLINE constexpr vec(const A& a, const B& b, const C& c)
      : base(OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, b), OPENMPS_CONVERT(T, c)) {}
  template <class A, class B, metal::enable_if_t<(shape<A>::size + shape<B>::size <= 3), int> = 0>
  OPENMPS_INLINE constexpr vec(const A& a, const B& b) : vec(parts<T, 3>(a, b)) {}
  template <class A, OPENMPS_IF_SPREADS(A)>
  OPENMPS_INLINE constexpr vec(A a)
      : vec(OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, a)) {}
  template <class A, OPENMPS_IF_SPREADS_EXPLICITLY(A)>
  OPENMPS_INLINE explicit constexpr vec(A a)
      : vec(OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, a)) {}
  template <class U, metal::enable_if_t<!metal::is_same_v<U, T>, int> = 0>
  OPENMPS_INLINE explicit constexpr vec(OPENMPS_TAKE(vec<U, 3>) v)
      : base(OPENMPS_CONVERT(T, v.x), OPENMPS_CONVERT(T, v.y), OPENMPS_CONVERT(T, v.z)) {}
  OPENMPS_VECTOR_OPERATORS(OPENMPS_EACH3)
  OPENMPS_VECTOR_ACCESS

 private:
  OPENMPS_INLINE explicit constexpr vec(const parts<T, 3>& p) : base(p.at[0], p.at[1], p.at[2]) {}
  template <class V>
  static OPENMPS_INLINE constexpr auto& pick(V& v, long i) {
    return i == 0 ? v.x : i == 1 ? v.y : v.z;
  }
};

#define OPENMPS_EACH4(how, op) \
  how(op, a.x, b.x), how(op, a.y, b.y), how(op, a.z, b.z), how(op, a.w, b.w)
template <class T>
struct vec<T, 4> : elements<T, 4> {
  static constexpr int width = 4;
  using base = elements<T, 4>;
  vec() = default;
  OPENMPS_INLINE constexpr vec(T a, T b, T c, T d) : base(a, b, c, d) {}
  template <class A, class B, class C, class D,
            metal::enable_if_t<
                shape<A>::size + shape<B>::size + shape<C>::size + shape<D>::size == 4, int> = 0>
  OPENMPS_INLINE constexpr vec(const A& a, const B& b, const C& c, const D& d)
      : base(OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, b), OPENMPS_CONVERT(T, c),
             OPENMPS_CONVERT(T, d)) {}
  template <class A, class B, class C,
            metal::enable_if_t<(shape<A>::size + shape<B>::size + shape<C>::size <= 4), int> = 0>
  OPENMPS_INLINE constexpr vec(const A& a, const B& b, const C& c) : vec(parts<T, 4>(a, b, c)) {}
  template <class A, class B, metal::enable_if_t<(shape<A>::size + shape<B>::size <= 4), int> = 0>
  OPENMPS_INLINE constexpr vec(const A& a, const B& b) : vec(parts<T, 4>(a, b)) {}
  template <class A, OPENMPS_IF_SPREADS(A)>
  OPENMPS_INLINE constexpr vec(A a)
      : vec(OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, a),
            OPENMPS_CONVERT(T, a)) {}
  template <class A, OPENMPS_IF_SPREADS_EXPLICITLY(A)>
  OPENMPS_INLINE explicit constexpr vec(A a)
      : vec(OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, a), OPENMPS_CONVERT(T, a),
            OPENMPS_CONVERT(T, a)) {}
  template <class U, metal::enable_if_t<!metal::is_same_v<U, T>, int> = 0>
  OPENMPS_INLINE explicit constexpr vec(OPENMPS_TAKE(vec<U, 4>) v)
      : base(OPENMPS_CONVERT(T, v.x), OPENMPS_CONVERT(T, v.y), OPENMPS_CONVERT(T, v.z),
             OPENMPS_CONVERT(T, v.w)) {}
  OPENMPS_VECTOR_OPERATORS(OPENMPS_EACH4)
  OPENMPS_VECTOR_ACCESS

 private:
  OPENMPS_INLINE explicit constexpr vec(const parts<T, 4>& p)
      : base(p.at[0], p.at[1], p.at[2], p.at[3]) {}
  template <class V>
  static OPENMPS_INLINE constexpr auto& pick(V& v, long i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
  }
};

// Wider vectors (8 and 16) are rare: only what loops over elements needs.
template <class T, int N>
struct vec {
  T openmps_elements[N];
  vec() = default;
  template <class A, OPENMPS_IF_SPREADS(A)>
  OPENMPS_INLINE constexpr vec(A a) : openmps_elements{} {
    for (int i = 0; i < N; ++i) openmps_elements[i] = OPENMPS_CONVERT(T, a);
  }
  template <class A, OPENMPS_IF_SPREADS_EXPLICITLY(A)>
  OPENMPS_INLINE explicit constexpr vec(A a) : openmps_elements{} {
    for (int i = 0; i < N; ++i) openmps_elements[i] = OPENMPS_CONVERT(T, a);
  }
  template <
      class A, class B, class... C,
      metal::enable_if_t<((shape<A>::size + shape<B>::size) + ... + shape<C>::size) == N, int> = 0>
  OPENMPS_INLINE constexpr vec(const A& a, const B& b, const C&... c) : openmps_elements{} {
    T* out = openmps_elements;
    out = append<T>(append<T>(out, a), b);
    ((out = append<T>(out, c)), ...);
  }
  template <class U, metal::enable_if_t<!metal::is_same_v<U, T>, int> = 0>
  OPENMPS_INLINE explicit constexpr vec(const vec<U, N>& v) : openmps_elements{} {
    for (int i = 0; i < N; ++i) openmps_elements[i] = OPENMPS_CONVERT(T, v[i]);
  }
  OPENMPS_INLINE constexpr T& operator[](long i) { return openmps_elements[i]; }
  OPENMPS_INLINE constexpr const T& operator[](long i) const { return openmps_elements[i]; }
#define OPENMPS_WIDE(op)                                                        \
  friend OPENMPS_INLINE constexpr vec operator op(const vec& a, const vec& b) { \
    vec result{};                                                               \
    for (int i = 0; i < N; ++i) result[i] = T(a[i] op b[i]);                    \
    return result;                                                              \
  }                                                                             \
  OPENMPS_INLINE constexpr vec& operator op##=(const vec & b) { return *this = *this op b; }
  OPENMPS_WIDE(+)
  OPENMPS_WIDE(-)
  OPENMPS_WIDE(*)
  OPENMPS_WIDE(/)
  OPENMPS_WIDE(&)
  OPENMPS_WIDE(|)
  OPENMPS_WIDE(^)
#undef OPENMPS_WIDE
};

// A bfloat in arithmetic with a vector of other elements, to which it does not convert by itself.
#define OPENMPS_WITH_BFLOAT(op)                                                        \
  template <class T, int N, metal::enable_if_t<!metal::is_same_v<T, bfloat>, int> = 0> \
  OPENMPS_INLINE constexpr vec<T, N> operator op(bfloat a, const vec<T, N>& b) {       \
    return vec<T, N>(a) op b;                                                          \
  }                                                                                    \
  template <class T, int N, metal::enable_if_t<!metal::is_same_v<T, bfloat>, int> = 0> \
  OPENMPS_INLINE constexpr vec<T, N> operator op(const vec<T, N>& a, bfloat b) {       \
    return a op vec<T, N>(b);                                                          \
  }                                                                                    \
  template <class T, int N, metal::enable_if_t<!metal::is_same_v<T, bfloat>, int> = 0> \
  OPENMPS_INLINE constexpr vec<T, N>& operator op##=(vec<T, N>& a, bfloat b) {         \
    return a = a op vec<T, N>(b);                                                      \
  }
OPENMPS_WITH_BFLOAT(+)
OPENMPS_WITH_BFLOAT(-)
OPENMPS_WITH_BFLOAT(*)
OPENMPS_WITH_BFLOAT(/)
#undef OPENMPS_WITH_BFLOAT

#undef OPENMPS_BINARY
#undef OPENMPS_BOOLS
#undef OPENMPS_COMPARE
#undef OPENMPS_DIVIDE
#undef OPENMPS_EACH1
#undef OPENMPS_EACH2
#undef OPENMPS_EACH3
#undef OPENMPS_EACH4
#undef OPENMPS_NOT
#undef OPENMPS_REST
#undef OPENMPS_SHIFT
#undef OPENMPS_SIGN
#undef OPENMPS_TAKE
#undef OPENMPS_IF_SPREADS
#undef OPENMPS_IF_SPREADS_EXPLICITLY
#undef OPENMPS_TEST
#undef OPENMPS_UNARY
#undef OPENMPS_VALUE
#undef OPENMPS_WRAPPED
#undef OPENMPS_VECTOR_ACCESS
#undef OPENMPS_VECTOR_OPERATORS

}  // namespace openmps_vector

namespace openmps_types {

#define OPENMPS_VECTOR_NAMES(name, T)        \
  using name##2 = openmps_vector::vec<T, 2>; \
  using name##3 = openmps_vector::vec<T, 3>; \
  using name##4 = openmps_vector::vec<T, 4>;
OPENMPS_VECTOR_NAMES(bool, bool)
OPENMPS_VECTOR_NAMES(char, char)
OPENMPS_VECTOR_NAMES(uchar, unsigned char)
OPENMPS_VECTOR_NAMES(short, short)
OPENMPS_VECTOR_NAMES(ushort, unsigned short)
OPENMPS_VECTOR_NAMES(int, int)
OPENMPS_VECTOR_NAMES(uint, unsigned int)
OPENMPS_VECTOR_NAMES(long, long)
OPENMPS_VECTOR_NAMES(ulong, unsigned long)
OPENMPS_VECTOR_NAMES(half, half)
OPENMPS_VECTOR_NAMES(bfloat, bfloat)
OPENMPS_VECTOR_NAMES(float, float)
#undef OPENMPS_VECTOR_NAMES

}  // namespace openmps_types
}  // namespace msl
