#include "engine/cpu/recurrent.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/mkldnn_rnn_layer.h>
#include <ATen/ops/mkldnn_rnn_layer_backward_ops.h>
#include <ATen/ops/mkldnn_rnn_layer_ops.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <torch/version.h>

#include <algorithm>
#include <vector>

#include "dispatch/typed.h"
#include "tensor/allocation_tracker.h"
#include "tensor/header.h"

namespace openmps {
namespace {

using at::Tensor;

// Whether oneDNN's layer would run on this machine in bfloat16; the CPU tries it on others, too,
// and some of those it crashes.
bool has_bfloat16() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512bf16") != 0;
  return has;
#else
  return false;
#endif
}

// What the CPU would take the fused layer for.
bool is_for_fused_layer(const RecurrentCall& call) {
  const auto type = call.input.scalar_type();
  return call.is_lstm() && at::hasMKLDNN() && at::globalContext().userEnabledMkldnn() &&
         (type == at::kFloat || (type == at::kBFloat16 && has_bfloat16()));
}

// A packed sequence whose parts are equally long, which newer releases take for a whole one.
bool is_uniform(const RecurrentCall& call) {
  constexpr bool kUnpacked = TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13;
  const auto* sizes = call.batch_sizes->const_data_ptr<int64_t>();
  return kUnpacked && sizes[0] == sizes[call.batch_sizes->numel() - 1];
}

// ---- what nobody differentiates: the CPU's own operator on the same bytes, in one step

struct LayerViews {
  explicit LayerViews(const RecurrentCall& call)
      : input(call.input, /*written=*/false), hidden(call.state.hidden, /*written=*/false) {
    if (call.is_lstm()) cell.emplace(call.state.cell, /*written=*/false);
    weights.reserve(call.weights.size());
    for (const auto& weight : call.weights) weights.push_back(backing_view(weight, false));
  }
  // Of factors that do not lie in rows, matmul asks which product would be better for gradients,
  // even if nobody records them.
  void require_gradients(const RecurrentCall& call) {
    input.get().set_requires_grad(call.input.requires_grad());
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i].set_requires_grad(call.weights[i].requires_grad());
    }
  }
  ~LayerViews() {
    for (auto& weight : weights) recycle(std::move(weight));
  }
  BackingView input;
  BackingView hidden;
  std::optional<BackingView> cell;
  std::vector<Tensor> weights;
};

bool is_seen_by_nobody(const RecurrentCall& call) {
  return !call.is_recorded() && !call.drops() && !profiler::wants(profiler::Kind::kOperation) &&
         !at::hasCallbacks() && !at::autocast::is_autocast_enabled(at::kMPS);
}

RecurrentResults at_once(const RecurrentCall& call) {
  LayerViews views(call);
  const bool multiplies_columns =
      (call.batch_first || !call.input.is_contiguous()) && !is_for_fused_layer(call);
  if (multiplies_columns) views.require_gradients(call);
  auto below = call;
  below.input = views.input.get();
  below.state = {views.hidden.get(), views.cell ? views.cell->get() : Tensor()};
  below.weights = views.weights;
  const Tracking tracking;
  const at::AutoDispatchBelowAutograd no_gradients;
  std::optional<at::AutoDispatchBelowADInplaceOrView> no_views;  // which would know of gradients
  if (!multiplies_columns) no_views.emplace();
  auto results = composed_recurrent(below);
  below = call;  // lets go of the views
  return {new_on_mps(std::move(results.output)),
          {new_on_mps(std::move(results.state.hidden)), new_on_mps(std::move(results.state.cell))}};
}

// ---- an LSTM of fused layers, which autograd knows

RecurrentResults fused_lstm(const RecurrentCall& call) {
  auto sequence = (call.batch_first ? call.input.transpose(0, 1) : call.input).contiguous();
  const auto hidden = call.state.hidden.contiguous();
  const auto cell = call.state.cell.contiguous();
  const auto directions = call.directions();
  std::vector<Tensor> hiddens(call.layers * directions);
  std::vector<Tensor> cells(call.layers * directions);
  std::vector<Tensor> outputs(directions);
  for (int64_t layer = 0; layer < call.layers; ++layer) {
    for (int64_t direction = 0; direction < directions; ++direction) {
      const auto i = layer * directions + direction;
      const auto* weight = &call.weights[i * call.weights_each()];
      const auto bias = [&](int64_t which) {
        return call.biases ? weight[2 + which]
                           : at::zeros(weight[which].sizes(), weight[which].options());
      };
      std::tie(outputs[direction], hiddens[i], cells[i], std::ignore) =
          at::mkldnn_rnn_layer(sequence, weight[0], weight[1], bias(0), bias(1), hidden[i], cell[i],
                               /*reverse=*/direction > 0, /*batch_sizes=*/{},
                               static_cast<int64_t>(call.kind), call.hidden_size(), call.layers,
                               call.biases, call.bidirectional, call.batch_first, call.train);
    }
    sequence = directions == 1 ? outputs[0] : at::cat(outputs, -1);
    if (call.drops() && layer + 1 < call.layers) {
      sequence = at::dropout(sequence, call.dropout, /*train=*/true);
    }
  }
  return {call.batch_first ? sequence.transpose(0, 1) : sequence,
          {at::stack(hiddens), at::stack(cells)}};
}

RecurrentResults uniform_lstm(const RecurrentCall& call) {
  const auto steps = call.batch_sizes->numel();
  auto whole = call;
  whole.input = call.input.reshape({steps, -1, call.input.size(-1)});
  whole.batch_sizes = nullptr;
  auto results = fused_lstm(whole);
  results.output = results.output.reshape({call.input.size(0), results.output.size(-1)});
  return results;
}

std::optional<RecurrentResults> run_on_cpu(const RecurrentCall& call) {
  if (!call.is_usual()) return std::nullopt;
  const bool fuses = is_for_fused_layer(call) && !call.has_tangents();
  const bool would_crash = call.is_lstm() && !fuses && call.input.scalar_type() == at::kBFloat16;
  if (!would_crash && is_seen_by_nobody(call)) return at_once(call);
  if (fuses && !call.is_packed()) return fused_lstm(call);
  if (fuses && is_uniform(call) && !at::autocast::is_autocast_enabled(at::kMPS)) {
    return uniform_lstm(call);
  }
  return recurrent_in_steps(call);
}

}  // namespace

void register_recurrent_on_cpu(Registrar& registrar) {
  registrar.impl("mkldnn_rnn_layer", &OnBacking<at::_ops::mkldnn_rnn_layer>::run_as_given);
  registrar.impl("mkldnn_rnn_layer_backward",
                 &OnBacking<at::_ops::mkldnn_rnn_layer_backward>::run_as_given);
  register_recurrent(registrar, run_on_cpu);
}

}  // namespace openmps
