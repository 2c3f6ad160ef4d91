// The CPU's kernels read weights and biases as if they lay side by side, wherever they lie. A Mac
// composes group norms of operators that mind strides.
#pragma once

#include "dispatch/typed.h"

namespace openmps {

inline std::optional<at::Tensor> side_by_side(const std::optional<at::Tensor>& parameter) {
  const bool lies_apart = parameter && parameter->defined() && !parameter->is_contiguous();
  return lies_apart ? parameter->contiguous() : parameter;
}

template <class Op, class Signature = typename Op::schema>
struct GroupNorm;

template <class Op, class Result, class... Rest>
struct GroupNorm<Op, Result(const at::Tensor&, const std::optional<at::Tensor>&,
                            const std::optional<at::Tensor>&, Rest...)> {
  static Result run(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                    const std::optional<at::Tensor>& bias, Rest... rest) {
    return OnBacking<Op>::run(input, side_by_side(weight), side_by_side(bias),
                              std::forward<Rest>(rest)...);
  }
};

template <class Op, class Signature = typename Op::schema>
struct GroupNormBackward;

template <class Op, class Result, class... Rest>
struct GroupNormBackward<Op, Result(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                    const at::Tensor&, const std::optional<at::Tensor>&, Rest...)> {
  static Result run(const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& mean,
                    const at::Tensor& deviation, const std::optional<at::Tensor>& weight,
                    Rest... rest) {
    return OnBacking<Op>::run(gradient, input, mean, deviation, side_by_side(weight),
                              std::forward<Rest>(rest)...);
  }
};

}  // namespace openmps
