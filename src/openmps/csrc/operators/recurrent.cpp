#include "operators/recurrent.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "engine/engine.h"
#include "mac/rules.h"
#include "tensor/header.h"
#include "torch_interfaces/generator.h"

namespace openmps {
namespace {

using at::Tensor;
using at::TensorList;

RunRecurrent g_run = nullptr;

RecurrentResults run_recurrent(const RecurrentCall& call) {
  if (g_run != nullptr) {
    if (auto results = g_run(call)) return *std::move(results);
  }
  return composed_recurrent(call);
}

// ---- lstm

using LstmResults = std::tuple<Tensor, Tensor, Tensor>;

LstmResults run_lstm(const RecurrentCall& call) {
  auto results = run_recurrent(call);
  return {std::move(results.output), std::move(results.state.hidden),
          std::move(results.state.cell)};
}

LstmResults lstm(const Tensor& input, TensorList states, TensorList weights, bool biases,
                 int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
  TORCH_CHECK(states.size() == 2, "lstm expects two hidden states");
  TORCH_CHECK(
      states[0].sym_size(2) == states[1].sym_size(2) || !refuses("aten::lstm", "projections"),
      "LSTM with projections is not currently supported with MPS.");
  const RecurrentCall call{RecurrentKind::kLstm,
                           input,
                           /*batch_sizes=*/nullptr,
                           {states[0], states[1]},
                           weights,
                           biases,
                           layers,
                           dropout,
                           train,
                           bidirectional,
                           batch_first};
  // Dropout between layers moves a Mac's generator by one block, whatever its size: the masks come
  // from Apple's graph library, seeded by that block. Its numbers are not known. Here they are the
  // usual ones, from a place that the same block determines.
  std::optional<DrawFrom> masks;
  if (dropout > 0.0 && train && layers > 1) masks.emplace(generator_for({}).reserve_words());
  // To a Mac this is one kernel, which no list of autocast names.
  std::optional<c10::impl::ExcludeDispatchKeyGuard> no_autocast;
  if (at::autocast::is_autocast_enabled(at::kMPS) && call.is_usual() && !engine().narrows_lstm()) {
    no_autocast.emplace(c10::DispatchKey::AutocastMPS);
  }
  return run_lstm(call);
}

LstmResults packed_lstm(const Tensor& data, const Tensor& batch_sizes, TensorList states,
                        TensorList weights, bool biases, int64_t layers, double dropout, bool train,
                        bool bidirectional) {
  TORCH_CHECK(states.size() == 2, "lstm expects two hidden states");
  return run_lstm({RecurrentKind::kLstm,
                   data,
                   &batch_sizes,
                   {states[0], states[1]},
                   weights,
                   biases,
                   layers,
                   dropout,
                   train,
                   bidirectional,
                   /*batch_first=*/false});
}

// ---- gru, rnn_tanh, rnn_relu

template <RecurrentKind kKind>
struct OneState {
  using Results = std::tuple<Tensor, Tensor>;

  static Results whole(const Tensor& input, const Tensor& state, TensorList weights, bool biases,
                       int64_t layers, double dropout, bool train, bool bidirectional,
                       bool batch_first) {
    return unpack(run_recurrent({kKind,
                                 input,
                                 /*batch_sizes=*/nullptr,
                                 {state, {}},
                                 weights,
                                 biases,
                                 layers,
                                 dropout,
                                 train,
                                 bidirectional,
                                 batch_first}));
  }
  static Results packed(const Tensor& data, const Tensor& batch_sizes, const Tensor& state,
                        TensorList weights, bool biases, int64_t layers, double dropout, bool train,
                        bool bidirectional) {
    return unpack(run_recurrent({kKind,
                                 data,
                                 &batch_sizes,
                                 {state, {}},
                                 weights,
                                 biases,
                                 layers,
                                 dropout,
                                 train,
                                 bidirectional,
                                 /*batch_first=*/false}));
  }

 private:
  static Results unpack(RecurrentResults results) {
    return {std::move(results.output), std::move(results.state.hidden)};
  }
};

template <RecurrentKind kKind>
void add_recurrent(Registrar& registrar, const std::string& name) {
  registrar.impl_with_autograd(name + ".input", &OneState<kKind>::whole);
  registrar.impl_with_autograd(name + ".data", &OneState<kKind>::packed);
}

RecurrentResults named(LstmResults results) {
  auto& [output, hidden, cell] = results;
  return {std::move(output), {std::move(hidden), std::move(cell)}};
}

RecurrentResults named(std::tuple<Tensor, Tensor> results) {
  auto& [output, hidden] = results;
  return {std::move(output), {std::move(hidden), {}}};
}

template <class Whole, class Packed, class State>
RecurrentResults compose(Whole whole, Packed packed, const RecurrentCall& c, const State& state) {
  if (c.is_packed()) {
    return named(packed(c.input, *c.batch_sizes, state, c.weights, c.biases, c.layers, c.dropout,
                        c.train, c.bidirectional));
  }
  return named(whole(c.input, state, c.weights, c.biases, c.layers, c.dropout, c.train,
                     c.bidirectional, c.batch_first));
}

template <class State>
using Whole = std::tuple<Tensor, Tensor> (*)(const Tensor&, const State&, TensorList, bool, int64_t,
                                             double, bool, bool, bool);
template <class State>
using Packed = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, const State&,
                                              TensorList, bool, int64_t, double, bool, bool);
using WholeLstm = LstmResults (*)(const Tensor&, TensorList, TensorList, bool, int64_t, double,
                                  bool, bool, bool);
using PackedLstm = LstmResults (*)(const Tensor&, const Tensor&, TensorList, TensorList, bool,
                                   int64_t, double, bool, bool);

}  // namespace

bool is_real(const Tensor& tensor) {
  constexpr c10::DispatchKeySet kWrappers(
      {c10::DispatchKey::Python, c10::DispatchKey::FuncTorchBatched,
       c10::DispatchKey::FuncTorchGradWrapper, c10::DispatchKey::Functionalize,
       c10::DispatchKey::Negative, c10::DispatchKey::Conjugate});
  return is_mps(tensor) && is_plain(tensor) &&
         !tensor.unsafeGetTensorImpl()->key_set().has_any(kWrappers) &&
         !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
         tensor.unsafeGetTensorImpl()->has_storage();
}

bool is_any_watched() {
  constexpr c10::DispatchKeySet kWatchers(
      {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
       c10::DispatchKey::Functionalize, c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
       c10::DispatchKey::FuncTorchDynamicLayerBackMode});
  return c10::impl::tls_local_dispatch_key_set().included_.has_any(kWatchers);
}

template <class Predicate>
bool RecurrentCall::any(Predicate is) const {
  return is(input) || is(state.hidden) || is(state.cell) ||
         std::any_of(weights.begin(), weights.end(), is);
}

bool RecurrentCall::is_recorded() const {
  return any([](const Tensor& tensor) { return openmps::is_recorded(tensor); });
}

bool RecurrentCall::has_tangents() const {
  return any([](const Tensor& t) { return t.defined() && t._fw_grad(/*level=*/0).defined(); });
}

bool RecurrentCall::is_usual() const {
  const auto fits = [&](const Tensor& tensor, at::IntArrayRef sizes) {
    return is_real(tensor) && tensor.dtype() == input.dtype() && tensor.sizes() == sizes;
  };
  if (is_any_watched()) return false;
  if (!is_real(input) || !is_common_float(input.scalar_type()) || input.numel() == 0) return false;
  if (input.dim() != (is_packed() ? 2 : 3) || !is_real(state.hidden)) return false;
  if (state.hidden.dim() != 3 || state.hidden.numel() == 0 || layers < 1) return false;
  int64_t batch = input.size(batch_first ? 0 : -2);
  if (is_packed()) {
    if (!batch_sizes->is_cpu() || batch_sizes->dim() != 1 || batch_sizes->numel() == 0)
      return false;
    if (batch_sizes->scalar_type() != at::kLong || !batch_sizes->is_contiguous()) return false;
    batch = *batch_sizes->const_data_ptr<int64_t>();
  }
  const int64_t hidden = hidden_size();
  const std::array<int64_t, 3> of_state{layers * directions(), batch, hidden};
  if (!fits(state.hidden, of_state) || (is_lstm() && !fits(state.cell, of_state))) return false;
  if (static_cast<int64_t>(weights.size()) != of_state[0] * weights_each()) return false;
  const int64_t gates = is_lstm() ? 4 : kind == RecurrentKind::kGru ? 3 : 1;
  for (int64_t i = 0; i < of_state[0]; ++i) {
    const auto* weight = &weights[i * weights_each()];
    const auto features = i < directions() ? input.size(-1) : hidden * directions();
    if (!fits(weight[0], {gates * hidden, features}) || !fits(weight[1], {gates * hidden, hidden}))
      return false;
    if (biases && (!fits(weight[2], {gates * hidden}) || !fits(weight[3], {gates * hidden})))
      return false;
  }
  return true;
}

RecurrentResults composed_recurrent(const RecurrentCall& call) {
  const Tensor& state = call.state.hidden;
  switch (call.kind) {
    case RecurrentKind::kRelu:
      return compose<Whole<Tensor>, Packed<Tensor>>(at::native::rnn_relu, at::native::rnn_relu,
                                                    call, state);
    case RecurrentKind::kTanh:
      return compose<Whole<Tensor>, Packed<Tensor>>(at::native::rnn_tanh, at::native::rnn_tanh,
                                                    call, state);
    case RecurrentKind::kGru:
      return compose<Whole<Tensor>, Packed<Tensor>>(at::native::gru, at::native::gru, call, state);
    case RecurrentKind::kLstm:
      break;
  }
  const std::array<Tensor, 2> states{call.state.hidden, call.state.cell};
  return compose<WholeLstm, PackedLstm>(at::native::lstm, at::native::lstm, call,
                                        TensorList(states));
}

void register_recurrent(Registrar& registrar, RunRecurrent run) {
  g_run = run;
  registrar.impl_with_autograd("lstm.input", lstm);
  registrar.impl_with_autograd("lstm.data", packed_lstm);
  add_recurrent<RecurrentKind::kGru>(registrar, "gru");
  add_recurrent<RecurrentKind::kTanh>(registrar, "rnn_tanh");
  add_recurrent<RecurrentKind::kRelu>(registrar, "rnn_relu");
}

void register_recurrent(Registrar& registrar) { registrar.impl_with_autograd("lstm.input", lstm); }

}  // namespace openmps
