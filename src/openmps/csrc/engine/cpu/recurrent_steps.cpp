// The operators of each step, and their order, are the CPU's: results and gradients have its bits.
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <vector>

#include "engine/cpu/recurrent.h"

namespace openmps {
namespace {

using at::Tensor;

// One direction of one layer.
struct StepWeights {
  const Tensor& of_input;
  const Tensor& of_hidden;
  Tensor input_bias;
  Tensor hidden_bias;

  Tensor project(const Tensor& input) const { return at::linear(input, of_input, input_bias); }
  Tensor recur(const Tensor& hidden) const { return at::linear(hidden, of_hidden, hidden_bias); }
};

StepWeights weights_of(const RecurrentCall& call, int64_t i) {
  const auto* weight = &call.weights[i * call.weights_each()];
  return {weight[0], weight[1], call.biases ? weight[2] : Tensor(),
          call.biases ? weight[3] : Tensor()};
}

RecurrentState lstm_step(const Tensor& projected, const RecurrentState& state,
                         const StepWeights& w) {
  const auto gates = w.recur(state.hidden).add_(projected).unsafe_chunk(4, 1);
  const auto in = gates[0].sigmoid_();
  const auto keep = gates[1].sigmoid_();
  const auto candidate = gates[2].tanh_();
  const auto out = gates[3].sigmoid_();
  auto cell = (keep * state.cell).add_(in * candidate);
  auto hidden = out * cell.tanh();
  return {std::move(hidden), std::move(cell)};
}

RecurrentState gru_step(const Tensor& projected, const RecurrentState& state,
                        const StepWeights& w) {
  const auto from_input = projected.unsafe_chunk(3, 1);
  const auto from_hidden = w.recur(state.hidden).unsafe_chunk(3, 1);
  const auto reset = from_hidden[0].add_(from_input[0]).sigmoid_();
  const auto update = from_hidden[1].add_(from_input[1]).sigmoid_();
  const auto candidate = from_input[2].add(from_hidden[2].mul_(reset)).tanh_();
  return {(state.hidden - candidate).mul_(update).add_(candidate), {}};
}

RecurrentState one_step(RecurrentKind kind, const Tensor& projected, const RecurrentState& state,
                        const StepWeights& weights) {
  if (kind == RecurrentKind::kLstm) return lstm_step(projected, state, weights);
  if (kind == RecurrentKind::kGru) return gru_step(projected, state, weights);
  const auto sum = weights.recur(state.hidden).add_(projected);
  return {kind == RecurrentKind::kTanh ? sum.tanh() : sum.relu(), {}};
}

RecurrentState rows(const RecurrentState& state, int64_t begin, int64_t end) {
  const auto narrow = [&](const Tensor& t) {
    return t.defined() ? t.narrow(0, begin, end - begin) : t;
  };
  return {narrow(state.hidden), narrow(state.cell)};
}

RecurrentState join_rows(const std::vector<RecurrentState>& states) {
  std::vector<Tensor> hiddens;
  std::vector<Tensor> cells;
  for (const auto& state : states) {
    hiddens.push_back(state.hidden);
    if (state.cell.defined()) cells.push_back(state.cell);
  }
  return {at::cat(hiddens, 0), cells.empty() ? Tensor() : at::cat(cells, 0)};
}

struct LayerResults {
  Tensor output;
  RecurrentState state;
};

LayerResults run_whole(const RecurrentCall& call, const Tensor& input, RecurrentState state,
                       const StepWeights& weights, bool backwards) {
  auto steps = weights.project(input).unbind(0);
  if (backwards) std::reverse(steps.begin(), steps.end());
  std::vector<Tensor> outputs;
  outputs.reserve(steps.size());
  for (const auto& projected : steps) {
    state = one_step(call.kind, projected, state, weights);
    outputs.push_back(state.hidden);
  }
  if (backwards) std::reverse(outputs.begin(), outputs.end());
  return {at::stack(outputs, 0), std::move(state)};
}

// Sequences of a packed batch lie in the order of their lengths: those that end early are the last
// rows of their step.
LayerResults run_packed(const RecurrentCall& call, const Tensor& input, RecurrentState state,
                        const StepWeights& weights) {
  const at::IntArrayRef sizes(call.batch_sizes->const_data_ptr<int64_t>(),
                              call.batch_sizes->numel());
  const auto projected = weights.project(input);
  std::vector<Tensor> outputs;
  std::vector<RecurrentState> ended;
  int64_t place = 0;
  int64_t running = sizes[0];
  for (const auto size : sizes) {
    const auto now = projected.narrow(0, place, size);
    place += size;
    if (size < running) {
      ended.push_back(rows(state, size, running));
      state = rows(state, 0, size);
    }
    running = size;
    state = one_step(call.kind, now, state, weights);
    outputs.push_back(state.hidden);
  }
  ended.push_back(std::move(state));
  std::reverse(ended.begin(), ended.end());
  return {at::cat(outputs, 0), join_rows(ended)};
}

LayerResults run_packed_backwards(const RecurrentCall& call, const Tensor& input,
                                  const RecurrentState& given, const StepWeights& weights) {
  const at::IntArrayRef sizes(call.batch_sizes->const_data_ptr<int64_t>(),
                              call.batch_sizes->numel());
  const auto projected = weights.project(input);
  std::vector<Tensor> outputs;
  int64_t place = input.size(0);
  int64_t running = sizes.back();
  auto state = rows(given, 0, running);
  for (size_t i = sizes.size(); i-- > 0;) {
    const auto size = sizes[i];
    if (size > running) state = join_rows({state, rows(given, running, size)});
    place -= size;
    running = size;
    state = one_step(call.kind, projected.narrow(0, place, size), state, weights);
    outputs.push_back(state.hidden);
  }
  std::reverse(outputs.begin(), outputs.end());
  return {at::cat(outputs, 0), std::move(state)};
}

LayerResults run_direction(const RecurrentCall& call, const Tensor& input, RecurrentState state,
                           const StepWeights& weights, bool backwards) {
  if (!call.is_packed()) return run_whole(call, input, std::move(state), weights, backwards);
  return backwards ? run_packed_backwards(call, input, state, weights)
                   : run_packed(call, input, std::move(state), weights);
}

}  // namespace

RecurrentResults recurrent_in_steps(const RecurrentCall& call) {
  auto sequence = call.batch_first ? call.input.transpose(0, 1) : call.input;
  const auto hidden = call.state.hidden.unbind(0);
  const auto cell = call.is_lstm() ? call.state.cell.unbind(0) : std::vector<Tensor>(hidden.size());
  std::vector<Tensor> hiddens;
  std::vector<Tensor> cells;
  for (int64_t layer = 0; layer < call.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < call.directions(); ++direction) {
      const auto i = layer * call.directions() + direction;
      auto results = run_direction(call, sequence, {hidden[i], cell[i]}, weights_of(call, i),
                                   /*backwards=*/direction > 0);
      outputs.push_back(std::move(results.output));
      hiddens.push_back(std::move(results.state.hidden));
      cells.push_back(std::move(results.state.cell));
    }
    sequence = outputs.size() == 1 ? outputs[0] : at::cat(outputs, -1);
    if (call.drops() && layer + 1 < call.layers) {
      sequence = at::dropout(sequence, call.dropout, /*train=*/true);
    }
  }
  return {call.batch_first ? sequence.transpose(0, 1) : sequence,
          {at::stack(hiddens, 0), call.is_lstm() ? at::stack(cells, 0) : Tensor()}};
}

}  // namespace openmps
