from __future__ import annotations

import functools

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import (
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
)

from ..agreement import assert_agrees, assert_matches
from ..agreement import assert_module_agrees as assert_equal

# Recurrent layers are one fused kernel on the cpu and a row of small ones on any other device.
assert_module_agrees = functools.partial(assert_equal, rtol=1e-5, atol=1e-6)

KINDS = {
    "tanh": lambda **kw: nn.RNN(3, 4, **kw),
    "relu": lambda **kw: nn.RNN(3, 4, nonlinearity="relu", **kw),
    "gru": lambda **kw: nn.GRU(3, 4, **kw),
    "lstm": lambda **kw: nn.LSTM(3, 4, **kw),
}
OPTIONS = {
    "plain": {},
    "bidirectional": {"bidirectional": True},
    "layers": {"num_layers": 2},
    "batch_first": {"batch_first": True},
    "no_bias": {"bias": False},
    "everything": {"bidirectional": True, "num_layers": 2, "batch_first": True},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_module_agrees(kind, options):
    torch.manual_seed(0)
    assert_module_agrees(KINDS[kind](**OPTIONS[options]), torch.randn(5, 2, 3, requires_grad=True))


@pytest.mark.parametrize("kind", KINDS)
def test_unbatched_sequences_agree(kind):
    torch.manual_seed(0)
    assert_module_agrees(KINDS[kind](), torch.randn(5, 3, requires_grad=True))


@pytest.mark.parametrize("gradients", [False, True])
def test_lstm_with_projection_is_refused(gradients):
    module = KINDS["lstm"](proj_size=2).to("mps")
    with pytest.raises(RuntimeError) as refused:
        module(torch.randn(5, 2, 3, device="mps", requires_grad=gradients))
    assert str(refused.value) == "LSTM with projections is not currently supported with MPS."


@pytest.mark.parametrize("kind", ["tanh", "gru"])
def test_a_given_state_agrees(kind):
    torch.manual_seed(0)
    assert_module_agrees(
        KINDS[kind](),
        torch.randn(5, 2, 3, requires_grad=True),
        torch.randn(1, 2, 4, requires_grad=True),
    )


def test_a_given_lstm_state_agrees():
    torch.manual_seed(0)
    state = (torch.randn(1, 2, 4, requires_grad=True), torch.randn(1, 2, 4, requires_grad=True))
    assert_module_agrees(KINDS["lstm"](), torch.randn(5, 2, 3, requires_grad=True), state)


@pytest.mark.parametrize("make", [nn.RNNCell, nn.GRUCell])
def test_cells_agree(make):
    torch.manual_seed(0)
    assert_module_agrees(
        make(3, 4), torch.randn(2, 3, requires_grad=True), torch.randn(2, 4, requires_grad=True)
    )


def test_lstm_cell_agrees():
    torch.manual_seed(0)
    state = (torch.randn(2, 4, requires_grad=True), torch.randn(2, 4, requires_grad=True))
    assert_module_agrees(nn.LSTMCell(3, 4), torch.randn(2, 3, requires_grad=True), state)


class Packed(nn.Module):
    def __init__(self, module, lengths, **options):
        super().__init__()
        self.module = module
        self.lengths = lengths
        self.options = options

    def forward(self, data):
        packed = pack_padded_sequence(data, self.lengths, **self.options)
        out, state = self.module(packed)
        padded, lengths = pad_packed_sequence(out)
        assert lengths.tolist() == list(self.lengths)
        return padded, state


@pytest.mark.parametrize("options", ["plain", "bidirectional", "layers"])
@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_agree(kind, options):
    torch.manual_seed(0)
    module = Packed(KINDS[kind](**OPTIONS[options]), [5, 3, 2])
    assert_module_agrees(module, torch.randn(5, 3, 3, requires_grad=True))


def test_packed_sequences_in_any_order_agree():
    torch.manual_seed(0)
    module = Packed(KINDS["lstm"](), [2, 5, 3], enforce_sorted=False)
    assert_module_agrees(module, torch.randn(5, 3, 3, requires_grad=True))


def test_packing_keeps_lengths_on_the_cpu_and_data_on_mps():
    packed = pack_padded_sequence(torch.randn(5, 3, 3, device="mps"), torch.tensor([5, 3, 2]))
    assert packed.data.device.type == "mps"
    assert packed.batch_sizes.device.type == "cpu"
    assert packed.is_cuda is False
    assert packed.cpu().data.device.type == "cpu"
    assert packed.cpu().to("mps").data.device.type == "mps"


def test_lengths_on_mps_raise():
    with pytest.raises(RuntimeError, match=r"lengths.*CPU"):
        pack_padded_sequence(
            torch.randn(5, 3, 3, device="mps"), torch.tensor([5, 3, 2], device="mps")
        )


def test_padding_and_packing_lists_of_sequences():
    sequences = [torch.arange(3.0), torch.arange(2.0), torch.arange(1.0)]
    assert_agrees(lambda *s: pad_sequence(list(s), padding_value=-1), *sequences)
    packed = pack_sequence([s.to("mps") for s in sequences])
    assert_matches(packed.data, pack_sequence(sequences).data)


def test_dropout_between_layers_is_reproducible():
    module = nn.LSTM(3, 4, num_layers=2, dropout=0.5).to("mps")
    data = torch.randn(5, 2, 3, device="mps")
    torch.manual_seed(3)
    first = module(data)[0]
    second = module(data)[0]
    torch.manual_seed(3)
    assert torch.equal(module(data)[0], first)
    assert not torch.equal(first, second)
    assert first.device.type == "mps"


def test_flatten_parameters_changes_nothing():
    torch.manual_seed(0)
    module = nn.LSTM(3, 4)
    expected = {name: p.detach().clone() for name, p in module.named_parameters()}
    module.to("mps").flatten_parameters()
    assert_matches({name: p.detach() for name, p in module.named_parameters()}, expected)


def test_half_precision_agrees():
    torch.manual_seed(0)
    module = nn.GRU(3, 4).to(torch.bfloat16)  # the cpu's LSTM crashes on some machines
    data = torch.randn(5, 2, 3, dtype=torch.bfloat16, requires_grad=True)
    assert_module_agrees(module, data, rtol=0.02, atol=0.02)
