from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from ..agreement import as_fused, assert_agrees, assert_matches, assert_module_agrees

BACKENDS = ["eager", "aot_eager"]


@pytest.fixture(autouse=True)
def forget_compiled_code():
    yield
    torch.compiler.reset()


@pytest.mark.parametrize("backend", BACKENDS)
def test_function_agrees(backend):
    compiled = torch.compile(lambda x, w: torch.relu(x @ w).sum(1), backend=backend)
    assert_agrees(
        compiled, torch.randn(3, 4, requires_grad=True), torch.randn(4, 2, requires_grad=True)
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_module_agrees(backend):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2))
    module.compile(backend=backend)
    assert_module_agrees(module, torch.randn(5, 3, requires_grad=True), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_in_place_writes_and_views_agree(backend):
    def write(x):
        y = x.clone()
        y[0].add_(1)
        y.t()[1] = 7
        return y

    assert_agrees(torch.compile(write, backend=backend), torch.randn(3, 4))


@pytest.mark.parametrize("backend", BACKENDS)
def test_attention_agrees(backend):
    compiled = torch.compile(
        lambda q: nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True),
        backend=backend,
    )
    data = torch.randn(1, 2, 4, 8, requires_grad=True)
    expected = nn.functional.scaled_dot_product_attention(data, data, data, is_causal=True)
    actual = compiled(data.detach().to("mps").requires_grad_())
    assert_matches(actual, expected, **{"rtol": 1e-5, "atol": 1e-6, **as_fused()})


@pytest.mark.parametrize("backend", BACKENDS)
def test_new_tensors_inside_compiled_code_are_on_mps(backend):
    compiled = torch.compile(
        lambda x: x + torch.arange(4, device=x.device) * torch.ones_like(x), backend=backend
    )
    assert_agrees(compiled, torch.randn(3, 4))


@pytest.mark.parametrize("backend", BACKENDS)
def test_dynamic_shapes(backend):
    compiled = torch.compile(lambda x: x.cumsum(0) * x.size(0), backend=backend, dynamic=True)
    for size in (3, 5, 8):
        assert_agrees(compiled, torch.randn(size))


def test_random_numbers_in_compiled_code_come_from_the_mps_generator():
    compiled = torch.compile(lambda x: x + torch.rand_like(x), backend="aot_eager")
    data = torch.zeros(8, device="mps")
    torch.manual_seed(0)
    first = compiled(data)
    torch.manual_seed(0)
    assert torch.equal(compiled(data), first)
    assert first.device.type == "mps"


def test_fake_tensors_claim_to_be_on_mps():
    with FakeTensorMode() as mode:
        fake = torch.empty(3, 4, device="mps")
        result = torch.relu(fake @ fake.t())
        converted = mode.from_tensor(torch.ones(2, 2).to("meta"))
    assert result.device.type == "mps"
    assert result.shape == (3, 3)
    assert converted.device.type == "meta"


def test_fake_copies_of_real_mps_tensors():
    real = torch.ones(3, 4, device="mps")
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(real)
        result = nn.functional.conv1d(fake[None], fake[None, :1, :2].expand(2, 3, 2))
    assert result.device.type == "mps"
    assert result.shape == (1, 2, 3)


def test_custom_operators_run_on_mps():
    @torch.library.custom_op("openmps_tests::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    twice.register_autograd(lambda ctx, gradient: gradient * 2)
    assert_agrees(twice, torch.randn(3, requires_grad=True))
    assert_agrees(torch.compile(twice, backend="aot_eager"), torch.randn(3))


def test_export_runs_on_mps():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).to("mps")
    data = torch.randn(2, 3, device="mps")
    program = torch.export.export(module, (data,))
    got = program.module()(data)
    assert got.device.type == "mps"
    torch.testing.assert_close(got, module(data))
