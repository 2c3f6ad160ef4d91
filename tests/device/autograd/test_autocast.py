from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from ..agreement import assert_matches

HALVES = [torch.float16, torch.bfloat16]
MATRIX = torch.arange(12.0).view(3, 4) / 10

LOWER = {
    "linear": lambda x: functional.linear(x, x),
    "matmul": lambda x: x @ x.t(),
    "mm": lambda x: torch.mm(x, x.t()),
    "bmm": lambda x: torch.bmm(x[None], x.t()[None]),
    "addmm": lambda x: torch.addmm(torch.ones(3, 3, device=x.device), x, x.t()),
    "conv1d": lambda x: torch.conv1d(x[None], x[:, :, None].repeat(1, 1, 1)[:, :3]),
    "conv2d": lambda x: torch.conv2d(x[None, None], torch.ones(1, 1, 2, 2, device=x.device)),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "attention": lambda x: functional.scaled_dot_product_attention(x[None], x[None], x[None]),
}
FULL = {
    "softmax": lambda x: torch.softmax(x.half(), -1),
    "log_softmax": lambda x: torch.log_softmax(x.half(), -1),
    "exp": lambda x: torch.exp(x.half()),
    "log": lambda x: torch.log(x.half() + 1),
    "pow": lambda x: torch.pow(x.half(), 2),
    "layer_norm": lambda x: functional.layer_norm(x.half(), (4,)),
    "mse_loss": lambda x: functional.mse_loss(x.half(), x.half() + 1),
    "sum": lambda x: x.half().sum(),
    "norm": lambda x: x.half().norm(),
    "cumsum": lambda x: x.half().cumsum(0),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", LOWER)
def test_products_are_computed_in_half_precision(name, dtype):
    data = MATRIX.to("mps")
    with torch.autocast("mps", dtype=dtype):
        result = LOWER[name](data)
    assert result.dtype == dtype
    assert result.device.type == "mps"
    torch.testing.assert_close(result.float().cpu(), LOWER[name](MATRIX), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("name", FULL)
def test_sensitive_operators_are_computed_in_float32(name):
    with torch.autocast("mps", dtype=torch.float16):
        result = FULL[name](MATRIX.to("mps"))
    assert result.dtype == torch.float32
    assert result.device.type == "mps"
    torch.testing.assert_close(result.cpu(), FULL[name](MATRIX).float(), rtol=0.01, atol=0.01)


def test_other_operators_keep_their_dtype():
    with torch.autocast("mps", dtype=torch.float16):
        assert torch.relu(MATRIX.to("mps")).dtype == torch.float32
        assert (MATRIX.to("mps") + 1).dtype == torch.float32


def test_mixed_inputs_are_promoted():
    half, full = MATRIX.to("mps").half(), MATRIX.to("mps")
    with torch.autocast("mps", dtype=torch.float16):
        assert torch.cat([half, full]).dtype == torch.float32
        assert torch.stack([half, full]).dtype == torch.float32


def test_default_dtype_is_float16():
    assert torch.get_autocast_dtype("mps") == torch.float16
    with torch.autocast("mps"):
        assert torch.is_autocast_enabled("mps")
        assert (MATRIX.to("mps") @ MATRIX.to("mps").t()).dtype == torch.float16
    assert not torch.is_autocast_enabled("mps")


def test_nested_contexts():
    data = MATRIX.to("mps")
    with torch.autocast("mps", dtype=torch.float16):
        with torch.autocast("mps", enabled=False):
            assert (data @ data.t()).dtype == torch.float32
        with torch.autocast("mps", dtype=torch.bfloat16):
            assert (data @ data.t()).dtype == torch.bfloat16
        assert (data @ data.t()).dtype == torch.float16
    assert (data @ data.t()).dtype == torch.float32


def test_as_a_decorator():
    @torch.autocast("mps", dtype=torch.bfloat16)
    def product(x):
        return x @ x.t()

    assert product(MATRIX.to("mps")).dtype == torch.bfloat16


def test_cpu_autocast_does_not_touch_mps():
    data = MATRIX.to("mps")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_matches(data @ data.t(), (MATRIX.double() @ MATRIX.double().t()).float(), rtol=1e-5)
        assert_matches(
            functional.softmax(data.half(), -1).float(), torch.softmax(MATRIX, -1), rtol=0.01
        )
        assert functional.linear(data, data).dtype == torch.float32
        assert torch.conv2d(data[None, None], data[None, None]).dtype == torch.float32
        assert (MATRIX @ MATRIX.t()).dtype == torch.bfloat16
        attended = functional.scaled_dot_product_attention(data[None], data[None], data[None])
        assert attended.dtype == torch.float32


def test_mps_autocast_does_not_touch_the_cpu():
    with torch.autocast("mps", dtype=torch.float16):
        assert (MATRIX @ MATRIX.t()).dtype == torch.float32


def test_both_contexts_at_once():
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("mps", dtype=torch.float16):
        assert (MATRIX @ MATRIX.t()).dtype == torch.bfloat16
        assert (MATRIX.to("mps") @ MATRIX.to("mps").t()).dtype == torch.float16


def test_weight_casts_are_cached_inside_a_context():
    module = nn.Linear(4, 4, bias=False).to("mps")
    data = torch.ones(1, 4, device="mps")
    with torch.autocast("mps", dtype=torch.float16):
        module(data)
        during = torch.mps.current_allocated_memory()
        module(data)
        assert torch.mps.current_allocated_memory() == during
    assert torch.mps.current_allocated_memory() < during


def test_cache_can_be_disabled():
    module = nn.Linear(4, 4, bias=False).to("mps")
    data = torch.ones(1, 4, device="mps")
    before = torch.mps.current_allocated_memory()
    with torch.autocast("mps", dtype=torch.float16, cache_enabled=False), torch.no_grad():
        module(data)
        assert torch.mps.current_allocated_memory() == before


def test_gradients_have_the_dtype_of_the_weights():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)).to("mps")
    with torch.autocast("mps", dtype=torch.bfloat16):
        out = module(MATRIX.to("mps"))
        loss = functional.cross_entropy(out, torch.tensor([0, 1, 0], device="mps"))
    assert out.dtype == torch.bfloat16
    assert loss.dtype == torch.float32
    loss.backward()
    for parameter in module.parameters():
        assert parameter.grad.dtype == torch.float32
        assert parameter.grad.device.type == "mps"
        assert parameter.grad.isfinite().all()


def test_convolution_network_under_autocast_is_near_float32():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
    data = torch.randn(2, 1, 6, 6)
    expected = module(data).detach()
    module.to("mps")
    with torch.autocast("mps", dtype=torch.bfloat16):
        actual = module(data.to("mps"))
    assert actual.device.type == "mps"
    torch.testing.assert_close(actual.detach().float().cpu(), expected, rtol=0.1, atol=0.1)


def test_custom_functions_know_their_autocast_state():
    class Scale(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="mps", cast_inputs=torch.float32)
        def forward(ctx, x):
            assert not torch.is_autocast_enabled("mps")
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="mps")
        def backward(ctx, gradient):
            return gradient * 2

    data = torch.ones(3, dtype=torch.float16, device="mps", requires_grad=True)
    with torch.autocast("mps", dtype=torch.float16):
        out = Scale.apply(data)
    assert out.dtype == torch.float32
    out.sum().backward()
    assert_matches(data.grad, torch.full((3,), 2.0, dtype=torch.float16))


def test_unsupported_dtype_warns_and_disables():
    with pytest.warns(UserWarning, match="only supports"):
        context = torch.autocast("mps", dtype=torch.int32)
    with context:
        assert (MATRIX.to("mps") @ MATRIX.to("mps").t()).dtype == torch.float32


def scaled_step(scaler, module, optimizer, factor=1.0):
    optimizer.zero_grad()
    with torch.autocast("mps", dtype=torch.float16):
        loss = module(MATRIX.to("mps")).float().square().sum() * factor
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def test_grad_scaler_makes_the_step_that_plain_training_makes():
    torch.manual_seed(0)
    reference = nn.Linear(4, 2)
    module = copy.deepcopy(reference).to("mps")
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("mps", init_scale=64.0)
    scaled_step(scaler, module, optimizer)
    assert scaler.get_scale() == 64.0
    reference(MATRIX).square().sum().backward()
    with torch.no_grad():
        reference.weight.sub_(0.1 * reference.weight.grad)
    assert_matches(module.weight.detach(), reference.weight.detach(), rtol=0.01, atol=0.01)


def test_grad_scaler_skips_infinite_steps_and_lowers_the_scale():
    module = nn.Linear(4, 2).to("mps")
    before = module.weight.detach().clone()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("mps", init_scale=1024.0)
    scaled_step(scaler, module, optimizer, factor=float("inf"))
    assert torch.equal(module.weight, before)
    assert scaler.get_scale() == 512.0
    scaled_step(scaler, module, optimizer)
    assert not torch.equal(module.weight, before)


def test_grad_scaler_grows_after_enough_good_steps():
    module = nn.Linear(4, 2).to("mps")
    optimizer = torch.optim.SGD(module.parameters(), lr=0.001)
    scaler = torch.amp.GradScaler("mps", init_scale=8.0, growth_interval=2)
    for _ in range(2):
        scaled_step(scaler, module, optimizer)
    assert scaler.get_scale() == 16.0


def test_grad_scaler_unscales_for_clipping():
    module = nn.Linear(4, 2).to("mps")
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("mps", init_scale=256.0)
    scaler.scale(module(MATRIX.to("mps")).sum()).backward()
    scaler.unscale_(optimizer)
    assert_matches(module.bias.grad, torch.full((2,), 3.0))
    torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert module.bias.device.type == "mps"


def test_grad_scaler_state_dict_round_trip():
    scaler = torch.amp.GradScaler("mps", init_scale=4.0)
    scaler.scale(torch.ones(1, device="mps"))
    other = torch.amp.GradScaler("mps")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 4.0


def test_grad_scaler_works_with_a_fused_optimizer():
    torch.manual_seed(0)
    module = nn.Linear(4, 2).to("mps")
    before = module.weight.detach().clone()
    optimizer = torch.optim.AdamW(module.parameters(), fused=True)
    scaler = torch.amp.GradScaler("mps", init_scale=64.0)
    scaled_step(scaler, module, optimizer, factor=float("inf"))
    assert torch.equal(module.weight, before)
    scaled_step(scaler, module, optimizer)
    assert not torch.equal(module.weight, before)
    assert module.weight.device.type == "mps"
