// Operators that work on images (held.h): between a batch norm and the next convolution, under
// autocast, they compute in bfloat16 what they show as float32. That is as precise as autocast on
// CUDA, and moves half the bytes.
//
//   library.impl("relu", &Narrow<at::_ops::relu, 0b1>::run);
#pragma once

#include "engine/cuda/lazy_bfloat16.h"
#include "dispatch/typed.h"

namespace openmps {

// An argument that takes part as its image, or rounded to bfloat16 if it has none.
template <class T>
struct NarrowParameter {
  T original;
  at::Tensor view;

  NarrowParameter(const char*, T t) : original(t), view(image_of(t)) {}
  NarrowParameter(const NarrowParameter&) = delete;
  NarrowParameter& operator=(const NarrowParameter&) = delete;
  ~NarrowParameter() { recycle(std::move(view)); }

  at::Tensor& pass() { return view; }
  void list(profiler::Tensors& tensors) const { tensors.push_back(&original); }

 private:
  static at::Tensor image_of(at::Tensor& t) {
    auto image = held::own_image(t, c10::kFloat);
    TORCH_CHECK(image.defined(), "another thread has asked for the bytes of a tensor");
    return image;
  }
  static at::Tensor image_of(const at::Tensor& t) {
    auto image = held::image(t, c10::kFloat);
    if (image.defined()) return image;
    return BackingView(t, /*written=*/false).get().to(c10::kBFloat16);
  }
};

// `kHeld` says which arguments must have images, `kRounded` which may: bit n for argument n.
template <class Op, unsigned kHeld, unsigned kRounded = 0, class Signature = typename Op::schema>
struct Narrow;

template <class Op, unsigned kHeld, unsigned kRounded, class Result, class... Args>
struct Narrow<Op, kHeld, kRounded, Result(Args...)> {
  static Result run(Args... args) {
    if (C10_UNLIKELY(held::any()) && !must_be_deterministic() &&
        fit(std::index_sequence_for<Args...>(), args...)) {
      try {
        return on_images(std::index_sequence_for<Args...>(), args...);
      } catch (const c10::Error& error) {
        if (is_of_gpu(error)) rethrow_as_mps(error);
      }
    }
    return OnBacking<Op>::run(std::forward<Args>(args)...);  // which says what is wrong, if need be
  }

 private:
  template <size_t I, class T>
  using Passed =
      std::conditional_t<(((kHeld | kRounded) >> I) & 1) != 0, NarrowParameter<T>, Parameter<T>>;

  template <size_t... I>
  static bool fit(std::index_sequence<I...>, const Args&... args) {
    return (fits<I>(args) && ...);
  }
  template <size_t I, class T>
  static bool fits(const T& argument) {
    if constexpr (((kHeld >> I) & 1) != 0) {
      return held::is_held(argument, c10::kFloat);
    } else if constexpr (((kRounded >> I) & 1) != 0) {
      return is_mps(argument) && is_plain(argument) && argument.scalar_type() == c10::kFloat;
    } else {
      return true;
    }
  }

  template <size_t... I>
  static Result on_images(std::index_sequence<I...>, Args&... args) {
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
    const Counting not_of_mps(false);  // an image is in nobody's books
    if constexpr (std::is_same_v<Result, at::Tensor&>) {
      Op::redispatch(backing().keys, parameter.pass()...);
      return std::get<0>(std::tie(args...));
    } else {
      return shown(Op::redispatch(backing().keys, parameter.pass()...));
    }
  }

  static at::Tensor shown(at::Tensor&& result) {
    const bool narrow = result.defined() && result.scalar_type() == c10::kBFloat16;
    return narrow ? held::new_float(result) : new_on_mps(std::move(result));
  }
  template <class... T>
  static std::tuple<T...> shown(std::tuple<T...>&& results) {
    return std::apply([](T&... result) { return std::tuple<T...>(shown(std::move(result))...); },
                      results);
  }
};

}  // namespace openmps
