#include "engine/cuda/recurrent.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/_cudnn_rnn.h>
#include <ATen/ops/_cudnn_rnn_backward_ops.h>
#include <ATen/ops/_cudnn_rnn_ops.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "dispatch/determinism.h"
#include "engine/cuda/flat_weights.h"
#include "operators/recurrent.h"
#include "profiler/profiler.h"
#include "tensor/allocation_tracker.h"
#include "tensor/header.h"
#include "torch_interfaces/no_warnings.h"

namespace openmps {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

// As a Mac's profiler would call what cuDNN does in one kernel.
const char* name_of(int64_t mode) {
  constexpr std::array<const char*, 4> kNames{"aten::rnn_relu", "aten::rnn_tanh", "aten::_lstm_mps",
                                              "aten::gru"};
  return kNames.at(static_cast<size_t>(mode));
}

// The GPU's side of any number of tensors, for the length of one call.
class GpuViews {
 public:
  GpuViews() = default;
  GpuViews(const GpuViews&) = delete;
  GpuViews& operator=(const GpuViews&) = delete;
  ~GpuViews() {
    for (auto& view : views_) recycle(std::move(view));
  }
  Tensor operator()(const Tensor& tensor) {
    if (!is_mps(tensor)) return tensor;
    views_.push_back(backing_view(tensor, /*written=*/false));
    return views_.back();
  }
  OptionalTensor operator()(const OptionalTensor& tensor) {
    return tensor && tensor->defined() ? OptionalTensor((*this)(*tensor)) : std::nullopt;
  }
  std::vector<Tensor> operator()(at::TensorList tensors) {
    std::vector<Tensor> result;
    result.reserve(tensors.size());
    for (const auto& tensor : tensors) result.push_back((*this)(tensor));
    return result;
  }

 private:
  std::vector<Tensor> views_;
};

WeightLayout layout_of(const Tensor& input, int64_t each, int64_t mode,
                       const c10::SymInt& hidden_size, int64_t layers, bool bidirectional) {
  return {each, input.size(-1), mode, hidden_size.expect_int(), layers, bidirectional};
}

// ---- cuDNN's operators on mps tensors, below autograd

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> cudnn_rnn(
    const Tensor& input, at::TensorList weights, int64_t each, const OptionalTensor& /*buffer*/,
    const Tensor& hidden, const OptionalTensor& cell, int64_t mode, c10::SymInt hidden_size,
    c10::SymInt projection, int64_t layers, bool batch_first, double dropout, bool train,
    bool bidirectional, c10::SymIntArrayRef batch_sizes, const OptionalTensor& dropout_state) {
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) {
    scope.begin_operation(name_of(mode), "", {&input, &hidden});
  }
  try {
    const auto layout = layout_of(input, each, mode, hidden_size, layers, bidirectional);
    const auto flat = flat_weights(layout, weights);
    auto [output, last_hidden, last_cell, reserve, buffer] = [&] {
      GpuViews view;
      const Tracking tracking;
      const NoAlerts silent;
      const NoWarnings of_weights_that_are_copied;
      const at::AutoDispatchBelowADInplaceOrView no_gradients;
      return at::_ops::_cudnn_rnn::redispatch(
          backing().keys, view(input), view(weights), each,
          flat.defined() ? OptionalTensor(flat) : std::nullopt, view(hidden), view(cell), mode,
          std::move(hidden_size), std::move(projection), layers, batch_first, dropout, train,
          bidirectional, batch_sizes, view(dropout_state));
    }();
    // Backward finds the buffer of weights that lie in one by themselves.
    auto kept =
        flat.defined() || !train ? at::empty({0}, input.options()) : new_on_mps(std::move(buffer));
    return {new_on_mps(std::move(output)), new_on_mps(std::move(last_hidden)),
            new_on_mps(std::move(last_cell)), new_on_mps(std::move(reserve)), std::move(kept)};
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }
}

using Gradients = std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>>;

// Of all weights in one buffer, as on `cuda`.
std::vector<Tensor> on_one_storage(std::vector<Tensor> gradients) {
  c10::Storage storage;
  const c10::StorageImpl* below = nullptr;
  for (auto& gradient : gradients) {
    if (!gradient.defined()) continue;
    if (gradient.storage().unsafeGetStorageImpl() != below) {
      below = gradient.storage().unsafeGetStorageImpl();
      storage = mps_storage(gradient.storage());
    }
    gradient = on_storage(gradient, storage);
  }
  return gradients;
}

Gradients cudnn_rnn_backward(const Tensor& input, at::TensorList weights, int64_t each,
                             const Tensor& buffer, const Tensor& hidden, const OptionalTensor& cell,
                             const Tensor& output, const OptionalTensor& for_output,
                             const OptionalTensor& for_hidden, const OptionalTensor& for_cell,
                             int64_t mode, c10::SymInt hidden_size, c10::SymInt projection,
                             int64_t layers, bool batch_first, double dropout, bool train,
                             bool bidirectional, c10::SymIntArrayRef batch_sizes,
                             const OptionalTensor& dropout_state, const Tensor& reserve,
                             std::array<bool, 4> wanted) {
  profiler::Scope scope;
  if (profiler::wants(profiler::Kind::kOperation)) {
    scope.begin_operation("aten::_cudnn_rnn_backward", "", {&input, &hidden});
  }
  try {
    const auto layout = layout_of(input, each, mode, hidden_size, layers, bidirectional);
    auto [of_input, of_hidden, of_cell, of_weights] = [&] {
      GpuViews view;
      auto flat =
          buffer.defined() && buffer.numel() != 0 ? view(buffer) : flat_weights(layout, weights);
      if (!flat.defined()) flat = copy_flat(layout, weights);
      const Tracking tracking;
      const NoAlerts silent;
      const at::AutoDispatchBelowADInplaceOrView no_gradients;
      return at::_ops::_cudnn_rnn_backward::redispatch(
          backing().keys, view(input), view(weights), each, flat, view(hidden), view(cell),
          view(output), view(for_output), view(for_hidden), view(for_cell), mode,
          std::move(hidden_size), std::move(projection), layers, batch_first, dropout, train,
          bidirectional, batch_sizes, view(dropout_state), view(reserve), wanted);
    }();
    return {new_on_mps(std::move(of_input)), new_on_mps(std::move(of_hidden)),
            new_on_mps(std::move(of_cell)), on_one_storage(std::move(of_weights))};
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }
}

// ---- gradients of gradients, which cuDNN does not know: those of the layer made of operators

Tensor as_tensor(c10::SymIntArrayRef batch_sizes) {
  return at::tensor(C10_AS_INTARRAYREF_SLOW(batch_sizes), at::device(at::kCPU).dtype(at::kLong));
}

Gradients composed_backward(const RecurrentCall& call, const OptionalTensor& for_output,
                            const OptionalTensor& for_hidden, const OptionalTensor& for_cell,
                            std::array<bool, 4> wanted) {
  const auto results = composed_recurrent(call);
  std::vector<Tensor> outputs;
  std::vector<Tensor> gradients;
  const auto add_output = [&](const Tensor& result, const OptionalTensor& gradient) {
    if (!result.defined() || !gradient || !gradient->defined()) return;
    outputs.push_back(result);
    gradients.push_back(*gradient);
  };
  add_output(results.output, for_output);
  add_output(results.state.hidden, for_hidden);
  add_output(results.state.cell, for_cell);

  Gradients found;
  auto& [of_input, of_hidden, of_cell, of_weights] = found;
  of_weights.resize(call.weights.size());
  std::vector<Tensor> inputs;
  std::vector<Tensor*> places;
  const auto add_input = [&](bool is_wanted, const Tensor& tensor, Tensor& place) {
    if (!is_wanted || !tensor.defined() || !tensor.requires_grad()) return;
    inputs.push_back(tensor);
    places.push_back(&place);
  };
  add_input(wanted[0], call.input, of_input);
  add_input(wanted[1], call.state.hidden, of_hidden);
  add_input(wanted[2], call.state.cell, of_cell);
  for (size_t i = 0; i < call.weights.size(); ++i) {
    add_input(wanted[3], call.weights[i], of_weights[i]);
  }
  if (outputs.empty() || inputs.empty()) return found;
  auto all = torch::autograd::grad(outputs, inputs, gradients, /*retain_graph=*/true,
                                   /*create_graph=*/true, /*allow_unused=*/true);
  for (size_t i = 0; i < all.size(); ++i) *places[i] = std::move(all[i]);
  return found;
}

Gradients recorded_backward(const Tensor& input, at::TensorList weights, int64_t each,
                            const Tensor& buffer, const Tensor& hidden, const OptionalTensor& cell,
                            const Tensor& output, const OptionalTensor& for_output,
                            const OptionalTensor& for_hidden, const OptionalTensor& for_cell,
                            int64_t mode, c10::SymInt hidden_size, c10::SymInt projection,
                            int64_t layers, bool batch_first, double dropout, bool train,
                            bool bidirectional, c10::SymIntArrayRef batch_sizes,
                            const OptionalTensor& dropout_state, const Tensor& reserve,
                            std::array<bool, 4> wanted) {
  if (!at::GradMode::is_enabled()) {
    return cudnn_rnn_backward(input, weights, each, buffer, hidden, cell, output, for_output,
                              for_hidden, for_cell, mode, std::move(hidden_size),
                              std::move(projection), layers, batch_first, dropout, train,
                              bidirectional, batch_sizes, dropout_state, reserve, wanted);
  }
  const auto sizes = batch_sizes.empty() ? Tensor() : as_tensor(batch_sizes);
  return composed_backward({static_cast<RecurrentKind>(mode),
                            input,
                            batch_sizes.empty() ? nullptr : &sizes,
                            {hidden, cell.value_or(Tensor())},
                            weights,
                            /*biases=*/each == 4,
                            layers,
                            /*dropout=*/0.0,
                            train,
                            bidirectional,
                            batch_first},
                           for_output, for_hidden, for_cell, wanted);
}

// ---- the layers

bool is_for_cudnn(const RecurrentCall& call) {
  const auto& cuda = at::detail::getCUDAHooks();
  if (!at::globalContext().userEnabledCuDNN() || !cuda.compiledWithCuDNN()) return false;
  if (call.input.scalar_type() == at::kBFloat16 && !cuda.supportsBFloat16RNNWithCuDNN()) {
    return false;
  }
  if (!call.is_packed()) return true;
  int64_t rows = 0;
  const auto* sizes = call.batch_sizes->const_data_ptr<int64_t>();
  for (int64_t i = 0; i < call.batch_sizes->numel(); ++i) {
    if (sizes[i] < 1 || (i != 0 && sizes[i] > sizes[i - 1])) return false;
    rows += sizes[i];
  }
  return rows == call.input.size(0);
}

RecurrentResults by_cudnn(const RecurrentCall& call) {
  const at::IntArrayRef batch_sizes =
      call.is_packed()
          ? at::IntArrayRef(call.batch_sizes->const_data_ptr<int64_t>(), call.batch_sizes->numel())
          : at::IntArrayRef();
  // cuDNN keeps what backward needs if it is told to train, which a Mac does not ask for. Dropout,
  // the rest of training, is none of its business here.
  auto [output, hidden, cell, reserve, buffer] =
      at::_cudnn_rnn(call.input, call.weights, call.weights_each(), /*weight_buf=*/std::nullopt,
                     call.state.hidden.contiguous(),
                     call.is_lstm() ? OptionalTensor(call.state.cell.contiguous()) : std::nullopt,
                     static_cast<int64_t>(call.kind), call.hidden_size(), /*proj_size=*/0,
                     call.layers, call.batch_first, /*dropout=*/0.0, /*train=*/call.is_recorded(),
                     call.bidirectional, batch_sizes, /*dropout_state=*/std::nullopt);
  return {std::move(output), {std::move(hidden), call.is_lstm() ? std::move(cell) : Tensor()}};
}

// Masks of the mps generator, which moves as it would if the layers were made of operators.
RecurrentResults with_dropout(const RecurrentCall& call) {
  auto layer = call;
  layer.layers = 1;
  std::vector<Tensor> hiddens;
  std::vector<Tensor> cells;
  const auto directions = call.directions();
  const auto weights = directions * call.weights_each();
  for (int64_t i = 0; i < call.layers; ++i) {
    layer.weights = call.weights.slice(i * weights, weights);
    layer.state.hidden = call.state.hidden.narrow(0, i * directions, directions);
    if (call.is_lstm()) layer.state.cell = call.state.cell.narrow(0, i * directions, directions);
    auto results = by_cudnn(layer);
    hiddens.push_back(std::move(results.state.hidden));
    cells.push_back(std::move(results.state.cell));
    layer.input = i + 1 < call.layers ? at::dropout(results.output, call.dropout, /*train=*/true)
                                      : std::move(results.output);
  }
  return {std::move(layer.input),
          {at::cat(hiddens, 0), call.is_lstm() ? at::cat(cells, 0) : Tensor()}};
}

std::optional<RecurrentResults> run_usual(const RecurrentCall& call) {
  if (!call.is_usual() || !is_for_cudnn(call) || call.has_tangents()) return std::nullopt;
  try {
    return call.drops() ? with_dropout(call) : by_cudnn(call);
  } catch (const c10::Error& error) {
    if (engine().is_device_failure(error)) engine().rethrow(error);
    return std::nullopt;  // made of operators, which work or say what is wrong
  }
}

// Under autocast a Mac's products are in the lower dtype, and a state that is carried on by sums
// stays in its own: of that dtype are the results.
std::optional<RecurrentResults> run_narrow(const RecurrentCall& call) {
  const auto lower = at::autocast::get_autocast_dtype(at::kMPS);
  const auto narrow = [&](const Tensor& tensor) {
    return tensor.defined() ? at::autocast::cached_cast(lower, tensor, at::kMPS) : tensor;
  };
  if (!is_common_float(lower) || !call.state.hidden.defined() || !is_mps(call.input)) {
    return std::nullopt;
  }
  const auto type = call.kind == RecurrentKind::kGru ? call.state.hidden.scalar_type()
                    : call.is_lstm()                 ? call.state.cell.scalar_type()
                                                     : lower;
  std::vector<Tensor> weights;
  for (const auto& weight : call.weights) weights.push_back(narrow(weight));
  auto narrowed = call;
  narrowed.input = narrow(call.input);
  narrowed.state = {narrow(call.state.hidden), narrow(call.state.cell)};
  narrowed.weights = weights;
  auto results = run_usual(narrowed);
  if (results) {
    const auto wide = c10::promoteTypes(type, lower);
    for (auto* tensor : {&results->output, &results->state.hidden, &results->state.cell}) {
      if (tensor->defined()) *tensor = tensor->to(wide);
    }
  }
  return results;
}

std::optional<RecurrentResults> run_on_cuda(const RecurrentCall& call) {
  return at::autocast::is_autocast_enabled(at::kMPS) ? run_narrow(call) : run_usual(call);
}

}  // namespace

void register_recurrent_on_cuda(Registrar& registrar) {
  registrar.impl("_cudnn_rnn", cudnn_rnn);
  registrar.impl("_cudnn_rnn_backward", cudnn_rnn_backward);
  registrar.impl_autograd("_cudnn_rnn_backward", recorded_backward);
  register_recurrent(registrar, run_on_cuda);
  register_recurrent_cells_on_cuda(registrar);
}

}  // namespace openmps
