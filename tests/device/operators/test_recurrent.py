from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import (
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
)

from .. import agreement
from ..agreement import on_cuda, on_mps

# cuDNN adds up in another order, over many steps; on the CPU engine the bits are the CPU's.
CLOSE = {"rtol": 1e-4, "atol": 2e-4} if on_cuda() else {}
assert_agrees = partial(agreement.assert_agrees, **CLOSE)
assert_matches = partial(agreement.assert_matches, **CLOSE)
assert_module_agrees = partial(agreement.assert_module_agrees, **CLOSE)

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
    "no_bias_batch_first": {"bias": False, "batch_first": True},
    "everything": {"bidirectional": True, "num_layers": 2, "batch_first": True},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_module_agrees(kind, options):
    torch.manual_seed(0)
    assert_module_agrees(KINDS[kind](**OPTIONS[options]), torch.randn(5, 2, 3, requires_grad=True))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_agrees(kind, options):
    torch.manual_seed(0)
    with torch.no_grad():
        assert_module_agrees(KINDS[kind](**OPTIONS[options]).eval(), torch.randn(5, 2, 3))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_frozen_weights_agree(kind, training):
    torch.manual_seed(0)
    module = KINDS[kind]().train(training).requires_grad_(False)
    assert_module_agrees(module, torch.randn(5, 2, 3))
    assert_module_agrees(module, torch.randn(5, 2, 3, requires_grad=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_that_is_not_training_has_gradients(kind):
    torch.manual_seed(0)
    assert_module_agrees(KINDS[kind]().eval(), torch.randn(5, 2, 3, requires_grad=True))


@pytest.mark.parametrize("kind", KINDS)
def test_wide_layers_agree(kind):
    torch.manual_seed(0)
    wide = {"lstm": nn.LSTM, "gru": nn.GRU}.get(kind, nn.RNN)(40, 72, 2)
    assert_module_agrees(wide, torch.randn(9, 8, 40, requires_grad=True), rtol=1e-4 * on_cuda())


@pytest.mark.parametrize("kind", KINDS)
def test_unbatched_sequences_agree(kind):
    torch.manual_seed(0)
    assert_module_agrees(KINDS[kind](), torch.randn(5, 3, requires_grad=True))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_gradients_agree(kind):
    torch.manual_seed(0)
    module = KINDS[kind]()
    twin = KINDS[kind]().to("mps")
    twin.load_state_dict(module.state_dict())
    data = torch.randn(5, 2, 3, requires_grad=True)
    on_device = on_mps(data)
    twice = []
    for layer, given in ((twin, on_device), (module, data)):
        out = layer(given)[0].square().sum()
        (first,) = torch.autograd.grad(out, given, create_graph=True)
        twice.append(torch.autograd.grad(first.square().sum(), [given, layer.weight_hh_l0]))
    assert_matches(twice[0], twice[1], roundings=8)


@pytest.mark.parametrize("kind", KINDS)
def test_sliced_inputs_agree(kind):
    torch.manual_seed(0)
    data = torch.randn(2, 3, 10).permute(2, 0, 1)[::2]
    assert_module_agrees(KINDS[kind](), data.detach().requires_grad_())
    with torch.no_grad():
        assert_module_agrees(KINDS[kind](), data)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_changed_in_place_count(kind):
    torch.manual_seed(0)
    module = KINDS[kind]()
    twin = KINDS[kind]().to("mps")
    data = torch.randn(5, 2, 3)
    for _ in range(2):
        twin.load_state_dict(module.state_dict())
        assert_matches(twin(data.to("mps"))[0], module(data)[0])
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.mul_(0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_operators_say_what_does_not_fit(kind):
    module = KINDS[kind]().to("mps")
    name = {"tanh": "rnn_tanh", "relu": "rnn_relu"}.get(kind, kind)
    state = torch.zeros(1, 2, 4, device="mps")
    given = [state, state] if kind == "lstm" else state
    weights = [p.detach() for p in module.parameters()]
    narrow = torch.zeros(5, 2, 2, device="mps")
    options = (True, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        getattr(torch, name)(narrow, given, weights, *options)
    with pytest.raises(RuntimeError, match="incorrect number of RNN parameters"):
        getattr(torch, name)(torch.zeros(5, 2, 3, device="mps"), given, weights[:3], *options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_of_the_cpu_refuses_data_on_mps(kind):
    with pytest.raises(RuntimeError, match=r"(?i)same device|on the cpu"):
        KINDS[kind]()(torch.zeros(5, 2, 3, device="mps"))


class FirstOf(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, data):
        return self.module(data)[0]


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_traced_scripted_and_compiled_layers_agree(kind):
    torch.manual_seed(0)
    module = FirstOf(KINDS[kind]()).to("mps")
    data = torch.randn(5, 2, 3, device="mps")
    expected = module(data)
    for made in (
        torch.jit.trace(module, data),
        torch.jit.script(module),
        torch.compile(module, backend="aot_eager"),
    ):
        torch.testing.assert_close(made(data), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_functional_gradients_agree(kind):
    torch.manual_seed(0)
    module = KINDS[kind]()
    data = torch.randn(5, 2, 3)

    def loss(given):
        return module(given)[0].square().sum()

    expected = torch.func.grad(loss)(data)
    module.to("mps")
    torch.testing.assert_close(
        torch.func.grad(loss)(data.to("mps")).cpu(), expected, rtol=1e-4, atol=1e-5
    )


def linear_has_forward_gradients():
    with torch.autograd.forward_ad.dual_level():
        one = torch.ones(1, 1, device="mps")
        dual = torch.autograd.forward_ad.make_dual(one, one)
        try:
            torch.nn.functional.linear(dual, one)
        except NotImplementedError:
            return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_forward_gradients_agree(kind):
    if not linear_has_forward_gradients():
        pytest.skip("this torch's linear on mps has no forward gradients, on a Mac, too")
    torch.manual_seed(0)
    module = KINDS[kind]().requires_grad_(False)
    data, tangent = torch.randn(2, 5, 2, 3)
    along = []
    for device in ("cpu", "mps"):
        module.to(device)
        torch._C._set_mkldnn_enabled(device == "mps")  # whose LSTM has none
        try:
            with torch.autograd.forward_ad.dual_level():
                dual = torch.autograd.forward_ad.make_dual(data.to(device), tangent.to(device))
                out = torch.autograd.forward_ad.unpack_dual(module(dual)[0])
                along.append(out.tangent.cpu())
        finally:
            torch._C._set_mkldnn_enabled(True)
    torch.testing.assert_close(along[1], along[0], rtol=1e-4, atol=1e-5)


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


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_of_one_length_agree(kind):
    torch.manual_seed(0)
    module = Packed(KINDS[kind](num_layers=2), [5, 5, 5])
    assert_module_agrees(module, torch.randn(5, 3, 3, requires_grad=True))


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_are_evaluated_alike(kind):
    torch.manual_seed(0)
    module = Packed(KINDS[kind](bidirectional=True), [5, 3, 2])
    with torch.no_grad():
        assert_module_agrees(module, torch.randn(5, 3, 3))


@pytest.mark.parametrize("kind", KINDS)
def test_a_python_mode_sees_the_operators_of_a_layer(kind):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            tensors = [a for a in args if isinstance(a, torch.Tensor)]
            assert all(t.device.type == "mps" for t in tensors)
            return func(*args, **(kwargs or {}))

    module = KINDS[kind]().to("mps")
    data = torch.randn(5, 2, 3, device="mps")
    with Names(), torch.no_grad():
        module(data)
    assert {"aten.addmm.default", "aten.linear.default"} & set(seen)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_dropout_of_everything_leaves_the_bias_alone(kind, gradients, train):
    module = KINDS[kind](num_layers=2, dropout=1.0, bias=False).to("mps").train(train)
    with torch.set_grad_enabled(gradients):
        out = module(torch.randn(5, 2, 3, device="mps"))[0]
    # With no input, no bias and no state the second layer says nothing.
    assert out.any().item() is not train


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_between_layers_is_reproducible(kind):
    module = KINDS[kind](num_layers=2, dropout=0.5).to("mps")
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
