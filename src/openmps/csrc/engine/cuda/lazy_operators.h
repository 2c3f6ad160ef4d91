// Operators that work on the bfloat16 source of a lazy tensor (lazy_bfloat16.h): between a batch
// norm and the next convolution, under autocast, they compute in bfloat16 what is viewed as
// float32. That is as precise as autocast on CUDA, and moves half the bytes.
//
//   library.impl("relu", &OnSource<at::_ops::relu, kFirst>::run);
#pragma once

#include "dispatch/typed.h"
#include "engine/cuda/lazy_bfloat16.h"

namespace openmps {

// An argument that takes part as its source, or rounded to bfloat16 if it has none.
template <class T>
struct SourceParameter {
  T original;
  at::Tensor view;

  SourceParameter(const char*, T t) : original(t), view(source_of(t)) {}
  SourceParameter(const SourceParameter&) = delete;
  SourceParameter& operator=(const SourceParameter&) = delete;
  ~SourceParameter() { recycle(std::move(view)); }

  at::Tensor& pass() { return view; }
  void list(profiler::Tensors& tensors) const { tensors.push_back(&original); }

 private:
  static at::Tensor source_of(at::Tensor& t) {
    auto source = lazy::own_source(t, c10::kFloat);
    TORCH_CHECK(source.defined(), "another thread has asked for the bytes of a tensor");
    return source;
  }
  static at::Tensor source_of(const at::Tensor& t) {
    auto source = lazy::source(t, c10::kFloat);
    if (source.defined()) return source;
    return BackingView(t, /*written=*/false).get().to(c10::kBFloat16);
  }
};

// Sets of arguments, a bit for each.
enum Arguments : unsigned { kNone = 0, kFirst = 1, kSecond = 2, kFirstTwo = 3 };

// `kLazy` says which arguments must be lazy, `kRounded` which may be.
template <class Op, unsigned kLazy, unsigned kRounded = kNone,
          class Signature = typename Op::schema>
struct OnSource;

template <class Op, unsigned kLazy, unsigned kRounded, class Result, class... Args>
struct OnSource<Op, kLazy, kRounded, Result(Args...)> {
  static Result run(Args... args) {
    if (C10_UNLIKELY(lazy::exist()) && !must_be_deterministic() &&
        fit(std::index_sequence_for<Args...>(), args...)) {
      try {
        return on_sources(std::index_sequence_for<Args...>(), args...);
      } catch (const c10::Error& error) {
        if (engine().is_device_failure(error)) engine().rethrow(error);
      }
    }
    return OnBacking<Op>::run(std::forward<Args>(args)...);  // which says what is wrong, if need be
  }

 private:
  template <size_t I, class T>
  using Passed =
      std::conditional_t<(((kLazy | kRounded) >> I) & 1) != 0, SourceParameter<T>, Parameter<T>>;

  template <size_t... I>
  static bool fit(std::index_sequence<I...>, const Args&... args) {
    return (fits<I>(args) && ...);
  }
  template <size_t I, class T>
  static bool fits(const T& argument) {
    if constexpr (((kLazy >> I) & 1) != 0) {
      return lazy::is_viewed_as(argument, c10::kFloat);
    } else if constexpr (((kRounded >> I) & 1) != 0) {
      return is_mps(argument) && is_plain(argument) &&
             (argument.scalar_type() == c10::kFloat || argument.scalar_type() == c10::kBFloat16);
    } else {
      return true;
    }
  }

  template <size_t... I>
  static Result on_sources(std::index_sequence<I...>, Args&... args) {
    return with(args..., Passed<I, Args>(Op::name, args)...);
  }

  template <class... P>
  static Result with(Args&... args, P&&... parameter) {
    profiler::Scope scope;
    if (profiler::wants(profiler::Kind::kOperation)) {
      profiler::Tensors tensors;
      (parameter.list(tensors), ...);
      scope.begin_operation(Op::name, Op::overload_name, tensors);
    }
    const Tracking untracked(false);  // a source has no buffer of the Mac's
    if constexpr (std::is_same_v<Result, at::Tensor&>) {
      Op::redispatch(backing().keys, parameter.pass()...);
      return std::get<0>(std::tie(args...));
    } else {
      return viewed(Op::redispatch(backing().keys, parameter.pass()...));
    }
  }

  static at::Tensor viewed(at::Tensor&& result) {
    const bool narrow = result.defined() && result.scalar_type() == c10::kBFloat16;
    return narrow ? lazy::new_float(result) : new_on_mps(std::move(result));
  }
  template <class... T>
  static std::tuple<T...> viewed(std::tuple<T...>&& results) {
    return std::apply([](T&... result) { return std::tuple<T...>(viewed(std::move(result))...); },
                      results);
  }
};

// In the place of the kernels that these operators have: only a process that takes batch norms
// lazily passes here.
void register_lazy_operators();

}  // namespace openmps
