// lstm, gru, rnn_tanh and rnn_relu, of whole sequences and of packed ones: what a Mac says to them,
// and whose implementation runs: an engine's, where it has a better one, or PyTorch's, made of
// other operators.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "engine/registrar.h"

namespace openmps {

// As cuDNN and oneDNN number them.
enum class RecurrentKind : int64_t { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };

struct RecurrentState {
  at::Tensor hidden;
  at::Tensor cell;  // of an LSTM
};

struct RecurrentCall {
  RecurrentKind kind;
  at::Tensor input;
  const at::Tensor* batch_sizes;  // of a packed sequence
  RecurrentState state;
  at::TensorList weights;
  bool biases;
  int64_t layers;
  double dropout;
  bool train;
  bool bidirectional;
  bool batch_first;

  bool is_lstm() const { return kind == RecurrentKind::kLstm; }
  bool is_packed() const { return batch_sizes != nullptr; }
  int64_t directions() const { return bidirectional ? 2 : 1; }
  bool drops() const { return dropout != 0.0 && train && layers > 1; }
  int64_t weights_each() const { return biases ? 4 : 2; }
  int64_t hidden_size() const { return state.hidden.size(2); }
  // Whether backward or forward autograd follows any of its tensors.
  bool is_recorded() const;
  // Whether forward autograd does, of which fused kernels know nothing.
  bool has_tangents() const;
  // Whether all tensors are plain, real ones of one common dtype on mps, with the shapes that the
  // options ask for: no projections, nothing empty, nothing for an error.
  bool is_usual() const;

 private:
  template <class Predicate>
  bool any(Predicate is) const;
};

// A tensor on mps that is plain: no wrapper of torch.func or Python, and with bytes.
bool is_real(const at::Tensor& tensor);

// Whether torch.func, torch.compile or a Python mode wants to see the operators of a layer.
bool is_any_watched();

struct RecurrentResults {
  at::Tensor output;
  RecurrentState state;
};

// What PyTorch makes of other operators.
RecurrentResults composed_recurrent(const RecurrentCall& call);

// An engine's implementation, called with a Mac's checks done; nothing: the composed one runs.
using RunRecurrent = std::optional<RecurrentResults> (*)(const RecurrentCall& call);
void register_recurrent(Registrar& registrar, RunRecurrent run);

// For engines that have none.
void register_recurrent(Registrar& registrar);

}  // namespace openmps
