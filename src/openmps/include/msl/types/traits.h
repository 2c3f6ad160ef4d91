// Scalar type names and metal_type_traits. As in Metal, a vector of floats counts as floating
// point, a vector of integers as integral.
#pragma once

#ifdef __CUDACC_RTC__
#include "../cuda/builtins.h"
#endif

#define OPENMPS_INLINE inline __attribute__((always_inline))

namespace msl {

// The types that Metal knows without any include or namespace; msl and metal both use it.
namespace openmps_types {

using size_t = unsigned long;
using ptrdiff_t = long;
using uintptr_t = unsigned long;
using intptr_t = long;
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long;
using uint64_t = unsigned long;
using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
#ifdef __CUDACC_RTC__
struct half;
#else
using half = _Float16;
#endif
struct bfloat;

}  // namespace openmps_types

using namespace openmps_types;

// Apart from namespace metal: on a Mac vectors are built in, and a call with a vector argument
// does not find metal's functions.
namespace openmps_vector {
template <class T, int N>
struct vec;
template <class T, int N>
struct packed_vec;
template <class T, int C, int R>
struct matrix;
}  // namespace openmps_vector

namespace openmps_detail {

using openmps_vector::matrix;
using openmps_vector::packed_vec;
using openmps_vector::vec;

template <class T>
inline constexpr bool is_integer = false;
template <class T>
inline constexpr bool is_float = false;
#define OPENMPS_INTEGER(T) \
  template <>              \
  inline constexpr bool is_integer<T> = true;
OPENMPS_INTEGER(bool)
OPENMPS_INTEGER(char)
OPENMPS_INTEGER(signed char)
OPENMPS_INTEGER(unsigned char)
OPENMPS_INTEGER(short)
OPENMPS_INTEGER(unsigned short)
OPENMPS_INTEGER(int)
OPENMPS_INTEGER(unsigned int)
OPENMPS_INTEGER(long)
OPENMPS_INTEGER(unsigned long)
OPENMPS_INTEGER(long long)
OPENMPS_INTEGER(unsigned long long)
#undef OPENMPS_INTEGER
template <>
inline constexpr bool is_float<float> = true;
template <>
inline constexpr bool is_float<half> = true;
template <>
inline constexpr bool is_float<bfloat> = true;
template <>
inline constexpr bool is_float<double> = true;
template <class T>
inline constexpr bool is_number = is_integer<T> || is_float<T>;

// A number as another. Where NVRTC computes a constant itself, it takes a NaN for false.
#ifdef __CUDACC_RTC__
template <class T, class A>
OPENMPS_INLINE constexpr T converted(const A& a) {
  if constexpr (__is_same(T, bool) && is_float<A>) {
    return a != A(0);
  } else {
    return static_cast<T>(a);
  }
}
#define OPENMPS_CONVERT(T, ...) (::msl::openmps_detail::converted<T>(__VA_ARGS__))
#else
#define OPENMPS_CONVERT(T, ...) (static_cast<T>(__VA_ARGS__))
#endif

// A scalar is a vector of one.
template <class T>
struct shape {
  using element = T;
  static constexpr int size = 1;
};
template <class T, int N>
struct shape<vec<T, N>> {
  using element = T;
  static constexpr int size = N;
};
template <class T, int N>
struct shape<packed_vec<T, N>> : shape<vec<T, N>> {};
template <class T>
struct shape<const T> : shape<T> {};
template <class T>
struct shape<volatile T> : shape<T> {};

// Stops a parameter from taking part in template argument deduction.
template <class T>
struct same {
  using type = T;
};
template <class T>
using same_t = typename same<T>::type;

}  // namespace openmps_detail

namespace metal {

using namespace openmps_types;
using openmps_vector::vec;

template <class T, T Value>
struct integral_constant {
  using value_type = T;
  using type = integral_constant;
  static constexpr T value = Value;
  constexpr operator T() const { return Value; }
  constexpr T operator()() const { return Value; }
};
template <bool Value>
using bool_constant = integral_constant<bool, Value>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool Condition, class T = void>
using enable_if_t = typename enable_if<Condition, T>::type;

template <bool, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool Condition, class A, class B>
using conditional_t = typename conditional<Condition, A, B>::type;

// Type transformations: name, what it matches, what it gives.
#define OPENMPS_TRANSFORM(name) \
  template <class T>            \
  using name##_t = typename name<T>::type;
#define OPENMPS_REMOVE(name, ...) \
  template <class T>              \
  struct name {                   \
    using type = T;               \
  };                              \
  template <class T>              \
  struct name<__VA_ARGS__> {      \
    using type = T;               \
  };                              \
  OPENMPS_TRANSFORM(name)
#define OPENMPS_ADD(name, ...) \
  template <class T>           \
  struct name {                \
    using type = __VA_ARGS__;  \
  };                           \
  OPENMPS_TRANSFORM(name)
OPENMPS_REMOVE(remove_const, const T)
OPENMPS_REMOVE(remove_volatile, volatile T)
OPENMPS_ADD(remove_cv, remove_const_t<remove_volatile_t<T>>)
OPENMPS_REMOVE(remove_reference, T&)
template <class T>
struct remove_reference<T&&> {
  using type = T;
};
OPENMPS_REMOVE(remove_pointer, T*)
template <class T>
struct remove_pointer<T* const> {
  using type = T;
};
OPENMPS_REMOVE(remove_extent, T[])
template <class T, size_t N>
struct remove_extent<T[N]> {
  using type = T;
};
OPENMPS_ADD(remove_addrspace, T)
OPENMPS_ADD(remove_addrspace_and_cv, remove_cv_t<T>)
OPENMPS_ADD(add_const, const T)
OPENMPS_ADD(add_volatile, volatile T)
OPENMPS_ADD(add_cv, const volatile T)
OPENMPS_ADD(add_pointer, remove_reference_t<T>*)
OPENMPS_ADD(add_lvalue_reference, T&)
OPENMPS_ADD(add_rvalue_reference, T&&)
OPENMPS_ADD(underlying_type, __underlying_type(T))
OPENMPS_ADD(make_scalar, typename openmps_detail::shape<T>::element)

template <class T>
struct decay {
  using type = remove_cv_t<remove_reference_t<T>>;
};
template <class T, size_t N>
struct decay<T (&)[N]> {
  using type = T*;
};
template <class R, class... A>
struct decay<R(A...)> {
  using type = R (*)(A...);
};
template <class R, class... A>
struct decay<R (&)(A...)> {
  using type = R (*)(A...);
};
OPENMPS_TRANSFORM(decay)

template <class T>
struct make_unsigned;
template <class T>
struct make_signed;
#define OPENMPS_SIGNS(T, Signed, Unsigned) \
  template <>                              \
  struct make_signed<T> {                  \
    using type = Signed;                   \
  };                                       \
  template <>                              \
  struct make_unsigned<T> {                \
    using type = Unsigned;                 \
  };
OPENMPS_SIGNS(char, signed char, unsigned char)
OPENMPS_SIGNS(signed char, signed char, unsigned char)
OPENMPS_SIGNS(unsigned char, signed char, unsigned char)
OPENMPS_SIGNS(short, short, unsigned short)
OPENMPS_SIGNS(unsigned short, short, unsigned short)
OPENMPS_SIGNS(int, int, unsigned int)
OPENMPS_SIGNS(unsigned int, int, unsigned int)
OPENMPS_SIGNS(long, long, unsigned long)
OPENMPS_SIGNS(unsigned long, long, unsigned long)
OPENMPS_SIGNS(long long, long long, unsigned long long)
OPENMPS_SIGNS(unsigned long long, long long, unsigned long long)
#undef OPENMPS_SIGNS
template <class T, int N>
struct make_signed<vec<T, N>> {
  using type = vec<typename make_signed<T>::type, N>;
};
template <class T, int N>
struct make_unsigned<vec<T, N>> {
  using type = vec<typename make_unsigned<T>::type, N>;
};
OPENMPS_TRANSFORM(make_signed)
OPENMPS_TRANSFORM(make_unsigned)
#undef OPENMPS_ADD
#undef OPENMPS_REMOVE
#undef OPENMPS_TRANSFORM

template <class T>
T&& declval() noexcept;

// Predicates, as a class and as a variable.
#define OPENMPS_PREDICATE(name, ...)            \
  template <class T>                            \
  inline constexpr bool name##_v = __VA_ARGS__; \
  template <class T>                            \
  struct name : bool_constant<name##_v<T>> {};
#define OPENMPS_MATCH(name, ...)                      \
  template <class T>                                  \
  inline constexpr bool name##_v = false;             \
  template <class T>                                  \
  inline constexpr bool name##_v<__VA_ARGS__> = true; \
  template <class T>                                  \
  struct name : bool_constant<name##_v<T>> {};
#define OPENMPS_ELEMENT(T) typename openmps_detail::shape<T>::element
template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class A, class B>
struct is_same : bool_constant<is_same_v<A, B>> {};
OPENMPS_PREDICATE(is_void, is_same_v<remove_cv_t<T>, void>)
OPENMPS_PREDICATE(is_integral, openmps_detail::is_integer<OPENMPS_ELEMENT(T)>)
OPENMPS_PREDICATE(is_floating_point, openmps_detail::is_float<OPENMPS_ELEMENT(T)>)
OPENMPS_PREDICATE(is_arithmetic, is_integral_v<T> || is_floating_point_v<T>)
OPENMPS_PREDICATE(is_enum, __is_enum(T))
OPENMPS_PREDICATE(is_union, __is_union(T))
OPENMPS_PREDICATE(is_vector, (openmps_detail::shape<T>::size > 1))
OPENMPS_PREDICATE(is_class, __is_class(T) && !is_arithmetic_v<T>)
OPENMPS_MATCH(is_const, const T)
OPENMPS_MATCH(is_volatile, volatile T)
OPENMPS_MATCH(is_lvalue_reference, T&)
OPENMPS_MATCH(is_rvalue_reference, T&&)
OPENMPS_PREDICATE(is_reference, is_lvalue_reference_v<T> || is_rvalue_reference_v<T>)
OPENMPS_PREDICATE(is_pointer, !is_same_v<remove_pointer_t<remove_cv_t<T>>, remove_cv_t<T>>)
OPENMPS_MATCH(is_array, T[])
template <class T, size_t N>
inline constexpr bool is_array_v<T[N]> = true;
OPENMPS_PREDICATE(is_function, !is_const_v<const T> && !is_reference_v<T>)
OPENMPS_PREDICATE(is_object, !is_function_v<T> && !is_reference_v<T> && !is_void_v<T>)
OPENMPS_PREDICATE(is_scalar,
                  openmps_detail::is_number<remove_cv_t<T>> || is_pointer_v<T> || is_enum_v<T>)
OPENMPS_PREDICATE(is_fundamental, is_arithmetic_v<T> || is_void_v<T>)
OPENMPS_PREDICATE(is_compound, !is_fundamental_v<T>)
OPENMPS_PREDICATE(is_trivially_copyable, __is_trivially_copyable(T))
OPENMPS_PREDICATE(is_standard_layout, __is_standard_layout(T))
OPENMPS_PREDICATE(is_pod, __is_trivially_copyable(T) && __is_standard_layout(T))
OPENMPS_PREDICATE(is_default_constructible, __is_constructible(T))
OPENMPS_PREDICATE(is_copy_constructible, __is_constructible(T, const T&))
#undef OPENMPS_ELEMENT
#undef OPENMPS_MATCH

template <class T, bool = is_integral_v<T>>
struct openmps_sign {
  static constexpr bool value = is_floating_point_v<T>;
};
template <class T>
struct openmps_sign<T, true> {
  using E = remove_cv_t<typename openmps_detail::shape<T>::element>;
  static constexpr bool value = E(-1) < E(0);
};
OPENMPS_PREDICATE(is_signed, openmps_sign<T>::value)
OPENMPS_PREDICATE(is_unsigned, is_integral_v<T> && !is_signed_v<T>)
#undef OPENMPS_PREDICATE

template <class Base, class Derived>
inline constexpr bool is_base_of_v = __is_base_of(Base, Derived);
template <class Base, class Derived>
struct is_base_of : bool_constant<is_base_of_v<Base, Derived>> {};
template <class T, class... A>
inline constexpr bool is_constructible_v = __is_constructible(T, A...);
template <class T, class... A>
struct is_constructible : bool_constant<is_constructible_v<T, A...>> {};
template <class T, class U>
inline constexpr bool is_assignable_v = __is_assignable(T, U);
template <class T, class U>
struct is_assignable : bool_constant<is_assignable_v<T, U>> {};

template <class From, class To>
struct openmps_convertible {
  static void take(To);
  template <class F>
  static auto test(int) -> decltype(take(declval<F>()), true_type{});
  template <class>
  static false_type test(...);
  using type = decltype(test<From>(0));
};
template <class From, class To>
struct is_convertible : openmps_convertible<From, To>::type {};
template <class From, class To>
inline constexpr bool is_convertible_v = is_convertible<From, To>::value;

template <class... T>
struct common_type;
template <class T>
struct common_type<T> : decay<T> {};
template <class A, class B>
struct common_type<A, B> {
  using type = decay_t<decltype(true ? declval<A>() : declval<B>())>;
};
template <class A, class B, class... Rest>
struct common_type<A, B, Rest...> : common_type<typename common_type<A, B>::type, Rest...> {};
template <class... T>
using common_type_t = typename common_type<T...>::type;

template <class T>
inline constexpr size_t rank_v = 0;
template <class T>
inline constexpr size_t rank_v<T[]> = 1 + rank_v<T>;
template <class T, size_t N>
inline constexpr size_t rank_v<T[N]> = 1 + rank_v<T>;
template <class T>
struct rank : integral_constant<size_t, rank_v<T>> {};
template <class T, unsigned I = 0>
inline constexpr size_t extent_v = 0;
template <class T, size_t N>
inline constexpr size_t extent_v<T[N], 0> = N;
template <class T, unsigned I, size_t N>
inline constexpr size_t extent_v<T[N], I> = extent_v<T, I - 1>;
template <class T, unsigned I = 0>
struct extent : integral_constant<size_t, extent_v<T, I>> {};
template <class T>
struct alignment_of : integral_constant<size_t, alignof(T)> {};

template <class T>
struct vec_elements : integral_constant<int, openmps_detail::shape<T>::size> {};
template <class T>
inline constexpr int vec_elements_v = vec_elements<T>::value;

// The names Apple's own headers use; MLX's copies of them appear in user code.
template <class... T>
struct _disjunction : bool_constant<(T::value || ...)> {};
template <class... T>
struct _conjunction : bool_constant<(T::value && ...)> {};

template <class T, T... I>
struct integer_sequence {
  using value_type = T;
  static constexpr size_t size() { return sizeof...(I); }
};
template <size_t... I>
using index_sequence = integer_sequence<size_t, I...>;

// A promise that a value is the same in all threads. Nothing is made of it.
template <class T>
using uniform = T;
template <class T>
OPENMPS_INLINE constexpr T make_uniform(T value) {
  return value;
}

}  // namespace metal

template <class To, class From>
OPENMPS_INLINE constexpr To as_type(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs types of the same size");
  return __builtin_bit_cast(To, from);
}

}  // namespace msl
