from __future__ import annotations

import copy
import io
import math

import pytest
import torch
from torch import nn

from ..agreement import assert_matches

# torch.jit is deprecated; programs still use it.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:`torch\.jit\..*` is"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("offset", torch.arange(3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return torch.relu(self.linear(x)) + self.offset
        return self.linear(x) - self.offset


def gate():
    torch.manual_seed(0)
    return Gate()


DATA = torch.arange(6.0).view(2, 3)


def test_traced_function():
    traced = torch.jit.trace(lambda x: torch.tanh(x) * 2 + x.sum(), DATA.to("mps"))
    for _ in range(3):
        assert_matches(traced(DATA.to("mps")), torch.tanh(DATA) * 2 + DATA.sum())


def test_traced_module():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    expected = module(DATA).detach()
    module.to("mps")
    traced = torch.jit.trace(module, DATA.to("mps"))
    assert_matches(traced(DATA.to("mps")).detach(), expected)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv1d(3, 4, 3), (1, 3, 9)),
        (nn.Conv2d(3, 4, 3, padding="same"), (1, 3, 8, 8)),
        (nn.Conv3d(3, 4, 3, padding=1), (1, 3, 4, 4, 4)),
        (nn.ConvTranspose2d(3, 4, 3, stride=2), (1, 3, 8, 8)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_traced_convolution_takes_its_input(layer, shape):
    layer = copy.deepcopy(layer)
    example, other = torch.zeros(shape), torch.linspace(-1, 1, math.prod(shape)).view(shape)
    expected = layer(other).detach()
    layer.to("mps")
    traced = torch.jit.trace(layer, example.to("mps"))
    for _ in range(3):
        assert_matches(traced(other.to("mps")).detach(), expected, rtol=1e-6, atol=1e-6)
    traced(other.to("mps")).square().sum().backward()
    assert all(parameter.grad.is_mps for parameter in traced.parameters())


def test_what_traces_call_for_a_convolution_is_one():
    torch.manual_seed(0)
    data, weight, bias = torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(4)
    options = ([2, 2], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True)
    on_mps = [tensor.to("mps") for tensor in (data, weight, bias)]
    for overload in (torch.ops.aten._convolution.default, torch.ops.aten._convolution.deprecated):
        flags = options[: len(overload._schema.arguments) - 3]  # the older one knows no TF32
        assert_matches(overload(*on_mps, *flags), overload(data, weight, bias, *flags))


def test_scripted_module_takes_branches():
    expected = gate()
    scripted = torch.jit.script(gate().to("mps"))
    for data in (DATA, -DATA):
        for _ in range(3):
            assert_matches(scripted(data.to("mps")), expected(data))


def test_scripted_function_creates_tensors_on_mps():
    @torch.jit.script
    def pad(x: torch.Tensor, n: int) -> torch.Tensor:
        zeros = torch.zeros([n, x.size(1)], device=x.device)
        return torch.cat([x, zeros])

    assert_matches(pad(DATA.to("mps"), 2), torch.cat([DATA, torch.zeros(2, 3)]))


def test_gradients_through_script():
    def gradients(module, device):
        data = DATA.to(device).requires_grad_()
        for _ in range(3):
            module.zero_grad()
            data.grad = None
            module(data).square().sum().backward()
        return data.grad, {name: p.grad for name, p in module.named_parameters()}

    scripted = torch.jit.script(gate().to("mps"))
    assert_matches(gradients(scripted, "mps"), gradients(gate(), "cpu"), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("saved_on", "location", "expected_device"),
    [
        ("mps", None, "mps"),
        ("mps", "cpu", "cpu"),
        ("mps", "mps", "mps"),
        ("cpu", "mps", "mps"),
        ("cpu", torch.device("mps"), "mps"),
        ("cpu", None, "cpu"),
    ],
)
def test_saving_and_loading(saved_on, location, expected_device):
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(gate().to(saved_on)), buffer)
    buffer.seek(0)
    loaded = torch.jit.load(buffer, map_location=location)
    assert {p.device.type for p in loaded.parameters()} == {expected_device}
    assert loaded.offset.device.type == expected_device
    result = loaded(DATA.to(expected_device))
    assert result.device.type == expected_device
    torch.testing.assert_close(result.detach().cpu(), gate()(DATA).detach(), rtol=0, atol=0)


def test_moving_a_scripted_module():
    scripted = torch.jit.script(gate())
    scripted.to("mps")
    assert_matches(scripted(DATA.to("mps")), gate()(DATA))


def test_frozen_module():
    scripted = torch.jit.freeze(torch.jit.script(gate().to("mps").eval()))
    for _ in range(3):
        result = scripted(DATA.to("mps")).detach()
        assert_matches(result, gate()(DATA).detach(), rtol=1e-6, atol=1e-6)


def test_device_conversions_inside_script():
    @torch.jit.script
    def there_and_back(x: torch.Tensor) -> torch.Tensor:
        return x.to("mps").add(1).cpu().to(device="mps")

    assert_matches(there_and_back(DATA), DATA + 1)


def test_fx_traces_run_on_mps():
    graph = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.GELU()))
    expected = graph(DATA).detach()
    assert_matches(graph.to("mps")(DATA.to("mps")).detach(), expected)


def test_make_fx_traces_mps_tensors():
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: torch.softmax(x, 0) @ x.t())(DATA.to("mps"))
    assert_matches(graph(DATA.to("mps")), torch.softmax(DATA, 0) @ DATA.t())
