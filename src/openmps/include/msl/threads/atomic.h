// metal_atomic. Any order but relaxed is taken as sequentially consistent.
#pragma once

#include "barrier.h"
#include "../math/minmax.h"

namespace msl {
namespace metal {

// As wide as on a Mac, where atomic_bool takes four bytes.
template <class T>
struct atomic {
  T openmps_value;
};
template <>
struct atomic<bool> {
  uint openmps_value;
};
template <class T>
using _atomic = atomic<T>;

using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;
using atomic_float = atomic<float>;
using atomic_ulong = atomic<ulong>;
using atomic_long = atomic<long>;

}  // namespace metal

namespace openmps_detail {

// The integer an atomic's bits are exchanged as.
template <unsigned long Bytes>
struct atomic_bits {
  using type = unsigned int;
};
template <>
struct atomic_bits<8> {
  using type = unsigned long;
};
template <class T>
using atomic_word = typename atomic_bits<sizeof(metal::atomic<T>)>::type;

template <class T>
OPENMPS_INLINE atomic_word<T> to_word(T value) {
  if constexpr (sizeof(T) == sizeof(atomic_word<T>)) {
    return __builtin_bit_cast(atomic_word<T>, value);
  } else {
    return static_cast<atomic_word<T>>(value);
  }
}
template <class T>
OPENMPS_INLINE T from_word(atomic_word<T> word) {
  if constexpr (sizeof(T) == sizeof(atomic_word<T>)) {
    return __builtin_bit_cast(T, word);
  } else {
    return static_cast<T>(word);
  }
}
template <class T>
OPENMPS_INLINE volatile atomic_word<T>* word_of(volatile metal::atomic<T>* object) {
  static_assert(sizeof(metal::atomic<T>) == 4 || sizeof(metal::atomic<T>) == 8,
                "atomics take 4 or 8 bytes");
  return reinterpret_cast<volatile atomic_word<T>*>(object);
}

// Replaces the value by update(value) and returns the old one.
template <class T, class Update>
OPENMPS_INLINE T exchange_until(volatile metal::atomic<T>* object, Update update) {
  auto* const word = word_of(object);
  atomic_word<T> old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, to_word<T>(update(from_word<T>(old))), true,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return from_word<T>(old);
}

}  // namespace openmps_detail

namespace metal {

#define OPENMPS_ORDERED(builtin, ...)                                     \
  (order == memory_order_relaxed ? builtin(__VA_ARGS__, __ATOMIC_RELAXED) \
                                 : builtin(__VA_ARGS__, __ATOMIC_SEQ_CST))

template <class T>
OPENMPS_INLINE T atomic_load_explicit(const volatile atomic<T>* object, memory_order order) {
  auto* const word = openmps_detail::word_of(const_cast<volatile atomic<T>*>(object));
  return openmps_detail::from_word<T>(OPENMPS_ORDERED(__atomic_load_n, word));
}
template <class T>
OPENMPS_INLINE void atomic_store_explicit(volatile atomic<T>* object,
                                          openmps_detail::same_t<T> desired, memory_order order) {
  OPENMPS_ORDERED(__atomic_store_n, openmps_detail::word_of(object),
                  openmps_detail::to_word<T>(desired));
}
template <class T>
OPENMPS_INLINE T atomic_exchange_explicit(volatile atomic<T>* object,
                                          openmps_detail::same_t<T> desired, memory_order order) {
  return openmps_detail::from_word<T>(OPENMPS_ORDERED(
      __atomic_exchange_n, openmps_detail::word_of(object), openmps_detail::to_word<T>(desired)));
}
template <class T>
OPENMPS_INLINE bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* object, T* expected,
                                                          openmps_detail::same_t<T> desired,
                                                          memory_order, memory_order) {
  auto old = openmps_detail::to_word<T>(*expected);
  const bool done = __atomic_compare_exchange_n(openmps_detail::word_of(object), &old,
                                                openmps_detail::to_word<T>(desired), true,
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  *expected = openmps_detail::from_word<T>(old);
  return done;
}

// Integers use the machine's own instruction where there is one, but with g++ floats too; the rest
// exchange until they win.
#if defined(__clang__) || defined(__CUDACC_RTC__)
#define OPENMPS_NATIVE true
#else
#define OPENMPS_NATIVE false
#define __atomic_fetch_min(...) operand
#define __atomic_fetch_max(...) operand
#endif
#define OPENMPS_FETCH(name, native, ...)                                                   \
  template <class T>                                                                       \
  OPENMPS_INLINE T atomic_fetch_##name##_explicit(                                         \
      volatile atomic<T>* object, openmps_detail::same_t<T> operand, memory_order order) { \
    if constexpr (native) {                                                                \
      return OPENMPS_ORDERED(__atomic_fetch_##name, &object->openmps_value, operand);      \
    } else {                                                                               \
      return openmps_detail::exchange_until(                                               \
          object, [=](T old) -> T { return static_cast<T>(__VA_ARGS__); });                \
    }                                                                                      \
  }
#define OPENMPS_INTEGER (is_integral_v<T> && !is_same_v<T, bool>)
OPENMPS_FETCH(add, OPENMPS_INTEGER || (OPENMPS_NATIVE && is_same_v<T, float>), old + operand)
OPENMPS_FETCH(sub, OPENMPS_INTEGER || (OPENMPS_NATIVE && is_same_v<T, float>), old - operand)
OPENMPS_FETCH(and, OPENMPS_INTEGER, old& operand)
OPENMPS_FETCH(or, OPENMPS_INTEGER, old | operand)
OPENMPS_FETCH(xor, OPENMPS_INTEGER, old ^ operand)
OPENMPS_FETCH(min, OPENMPS_INTEGER&& OPENMPS_NATIVE, min(old, operand))
OPENMPS_FETCH(max, OPENMPS_INTEGER&& OPENMPS_NATIVE, max(old, operand))
#undef OPENMPS_FETCH
#undef OPENMPS_INTEGER
#undef OPENMPS_NATIVE
#undef OPENMPS_ORDERED
#if !defined(__clang__) && !defined(__CUDACC_RTC__)
#undef __atomic_fetch_min
#undef __atomic_fetch_max
#endif

// The forms without a result.
template <class T>
OPENMPS_INLINE void atomic_min_explicit(volatile atomic<T>* object,
                                        openmps_detail::same_t<T> operand, memory_order order) {
  atomic_fetch_min_explicit(object, operand, order);
}
template <class T>
OPENMPS_INLINE void atomic_max_explicit(volatile atomic<T>* object,
                                        openmps_detail::same_t<T> operand, memory_order order) {
  atomic_fetch_max_explicit(object, operand, order);
}

}  // namespace metal
}  // namespace msl
