#include <ATen/autocast_mode.h>
#include <ATen/ops/_thnn_fused_gru_cell.h>
#include <ATen/ops/_thnn_fused_gru_cell_backward_ops.h>
#include <ATen/ops/_thnn_fused_gru_cell_ops.h>
#include <ATen/ops/_thnn_fused_lstm_cell.h>
#include <ATen/ops/_thnn_fused_lstm_cell_backward_impl_ops.h>
#include <ATen/ops/_thnn_fused_lstm_cell_ops.h>
#include <ATen/ops/gru_cell_native.h>
#include <ATen/ops/lstm_cell_native.h>
#include <ATen/ops/mm.h>

#include "dispatch/typed.h"
#include "engine/cuda/recurrent.h"
#include "operators/recurrent.h"

namespace openmps {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

struct CellWeights {
  const Tensor& of_input;
  const Tensor& of_hidden;
  const OptionalTensor& input_bias;
  const OptionalTensor& hidden_bias;
};

// Whether the shapes are right, of one dtype and without tangents, which the kernels do not know.
// All else is PyTorch's composed cell's, which also says what is wrong.
bool is_for_fused_cell(const Tensor& input, at::TensorList states, const CellWeights& w,
                       int64_t gates) {
  const bool has_bias = w.input_bias && w.input_bias->defined();
  if (has_bias != (w.hidden_bias && w.hidden_bias->defined())) return false;
  if (at::autocast::is_autocast_enabled(at::kMPS) || is_any_watched()) return false;
  const auto fits = [&](const Tensor& tensor, at::IntArrayRef sizes) {
    return is_real(tensor) && tensor.dtype() == input.dtype() && tensor.sizes() == sizes &&
           !tensor._fw_grad(/*level=*/0).defined();
  };
  if (!is_real(input) || input.dim() != 2 || !is_real(w.of_hidden) || w.of_hidden.dim() != 2) {
    return false;
  }
  const auto batch = input.size(0);
  const auto hidden = w.of_hidden.size(1);
  for (const auto& state : states) {
    if (!fits(state, {batch, hidden})) return false;
  }
  return is_common_float(input.scalar_type()) && input.numel() != 0 && hidden != 0 &&
         fits(input, input.sizes()) && fits(w.of_input, {gates * hidden, input.size(1)}) &&
         fits(w.of_hidden, {gates * hidden, hidden}) &&
         (!has_bias ||
          (fits(*w.input_bias, {gates * hidden}) && fits(*w.hidden_bias, {gates * hidden})));
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, at::TensorList states,
                                     const Tensor& of_input, const Tensor& of_hidden,
                                     const OptionalTensor& input_bias,
                                     const OptionalTensor& hidden_bias) {
  if (states.size() != 2 ||
      !is_for_fused_cell(input, states, {of_input, of_hidden, input_bias, hidden_bias}, 4)) {
    return at::native::lstm_cell(input, states, of_input, of_hidden, input_bias, hidden_bias);
  }
  auto [hidden, cell, workspace] = at::_thnn_fused_lstm_cell(
      input.mm(of_input.t()), states[0].mm(of_hidden.t()), states[1], input_bias, hidden_bias);
  return {std::move(hidden), std::move(cell)};
}

Tensor gru_cell(const Tensor& input, const Tensor& state, const Tensor& of_input,
                const Tensor& of_hidden, const OptionalTensor& input_bias,
                const OptionalTensor& hidden_bias) {
  if (!is_for_fused_cell(input, state, {of_input, of_hidden, input_bias, hidden_bias}, 3)) {
    return at::native::gru_cell(input, state, of_input, of_hidden, input_bias, hidden_bias);
  }
  return std::get<0>(at::_thnn_fused_gru_cell(input.mm(of_input.t()), state.mm(of_hidden.t()),
                                              state, input_bias, hidden_bias));
}

template <class Op>
void as_given(Registrar& registrar) {
  registrar.impl(full_name<Op>(), &OnBacking<Op>::run_as_given);
}

}  // namespace

void register_recurrent_cells_on_cuda(Registrar& registrar) {
  as_given<at::_ops::_thnn_fused_lstm_cell>(registrar);
  as_given<at::_ops::_thnn_fused_lstm_cell_backward_impl>(registrar);
  as_given<at::_ops::_thnn_fused_gru_cell>(registrar);
  as_given<at::_ops::_thnn_fused_gru_cell_backward>(registrar);
  registrar.impl_with_autograd("lstm_cell", lstm_cell);
  registrar.impl_with_autograd("gru_cell", gru_cell);
}

}  // namespace openmps
