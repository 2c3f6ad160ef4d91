"""Float32 that is bfloat16 in memory, around batch norms under autocast (OPENMPS_AUTOCAST=narrow).

A program sees dtypes, memory and independence of tensors as if every one had bytes of its own.
"""

from __future__ import annotations

import copy
import io
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from openmps.device import core

pytestmark = pytest.mark.usefixtures("narrow")


@pytest.fixture
def narrow(engine: str) -> Iterator[None]:
    core.load().narrow_autocast(True)
    yield
    core.load().narrow_autocast(engine == "cuda")


@pytest.fixture
def full_precision(narrow: None) -> None:
    core.load().narrow_autocast(False)


def autocast() -> Any:
    return torch.autocast("mps", torch.bfloat16)


def low_precision(*shape: int) -> torch.Tensor:
    """As a convolution would give it: a new result."""
    values = torch.linspace(-3, 3, torch.Size(shape).numel()).reshape(shape)
    return values.to("mps").bfloat16() + 0


def normalized(x: torch.Tensor) -> torch.Tensor:
    with autocast():
        return F.batch_norm(x, None, None, training=True)


def has_precision_of_bfloat16(x: torch.Tensor) -> bool:
    return x.cpu().bfloat16().float().equal(x.cpu())


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 1, bias=False)
        self.last_norm = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.relu(self.norm(self.first(x)))
        out = self.last_norm(self.second(out))
        out += x
        return self.relu(out)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        Block(4),
        nn.Sequential(Block(4), Block(4)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 3),
    ).to("mps")


def train(model: nn.Module, steps: int) -> tuple[list[float], list[tuple[str, torch.dtype]]]:
    """Losses, and the dtypes that each module saw and gave."""
    seen: list[tuple[str, torch.dtype]] = []

    def note(module: nn.Module, inputs: Any, output: torch.Tensor) -> None:
        seen.extend((type(module).__name__, x.dtype) for x in (*inputs, output))

    for module in model.modules():
        module.register_forward_hook(note)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.linspace(-1, 1, 4 * 3 * 10 * 10).reshape(4, 3, 10, 10).sin().to("mps")
    targets = torch.tensor([0, 1, 2, 0], device="mps")
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with autocast():
            loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, seen


def test_a_network_trains_with_the_same_dtypes_and_close_numbers() -> None:
    losses, dtypes = train(network(), 5)
    core.load().narrow_autocast(False)
    expected, expected_dtypes = train(network(), 5)
    assert dtypes == expected_dtypes
    assert torch.float32 in {dtype for name, dtype in dtypes if name == "Block"}
    torch.testing.assert_close(losses, expected, rtol=0.03, atol=0.03)
    assert losses[-1] < losses[0]


def test_gradients_are_close() -> None:
    def gradients() -> list[torch.Tensor]:
        model = network()
        train(model, 1)
        return [parameter.grad.cpu() for parameter in model.parameters()]

    found = gradients()
    core.load().narrow_autocast(False)
    for gradient, expected in zip(found, gradients(), strict=True):
        assert gradient.dtype == torch.float32
        assert (gradient - expected).norm() <= 0.08 * expected.norm() + 1e-3


def test_evaluation_is_close() -> None:
    model = network().eval()
    inputs = torch.randn(2, 3, 10, 10).to("mps")
    with torch.no_grad(), autocast():
        found = model(inputs)
        core.load().narrow_autocast(False)
        expected = model(inputs)
    torch.testing.assert_close(found, expected, rtol=0.03, atol=0.03)


def test_results_of_norms_are_float32_with_the_precision_of_bfloat16() -> None:
    x = low_precision(2, 3, 8)
    y = normalized(x)
    assert y.dtype == torch.float32
    assert has_precision_of_bfloat16(y)
    expected = F.batch_norm(x.cpu().float(), None, None, training=True)
    torch.testing.assert_close(y.cpu(), expected, rtol=2**-8, atol=1e-4)


def test_without_it_they_have_full_precision(full_precision: None) -> None:
    x = low_precision(2, 3, 8)
    y = normalized(x)
    assert not has_precision_of_bfloat16(y)
    expected = F.batch_norm(x.cpu().float(), None, None, training=True)
    torch.testing.assert_close(y.cpu(), expected)


ACTIVATIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "silu": F.silu,
    "hardswish": F.hardswish,
    "max_pool": lambda x, inplace: F.max_pool1d(x, 2),
    "sum": lambda x, inplace: x.add_(x) if inplace else x + x,
}


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_what_follows_a_norm_is_rounded_with_it(name: str, inplace: bool) -> None:
    x = low_precision(2, 3, 8).requires_grad_()
    y = ACTIVATIONS[name](normalized(x), inplace=inplace)
    assert y.dtype == torch.float32
    assert has_precision_of_bfloat16(y.detach())
    y.backward(torch.full_like(y, 0.25))
    reference = low_precision(2, 3, 8).cpu().requires_grad_()
    normal = F.batch_norm(reference.float(), None, None, training=True)
    expected = ACTIVATIONS[name](normal, inplace=inplace)
    expected.backward(torch.full_like(expected, 0.25))
    torch.testing.assert_close(y.cpu(), expected, rtol=2**-7, atol=0.01)
    torch.testing.assert_close(x.grad.cpu(), reference.grad, rtol=0.05, atol=0.01)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_other_dtypes_keep_full_precision(dtype: torch.dtype) -> None:
    assert not has_precision_of_bfloat16(normalized(low_precision(2, 3, 8).to(dtype)))


def test_a_norm_that_is_asked_for_float32_has_full_precision() -> None:
    x = low_precision(2, 3, 8)
    assert not has_precision_of_bfloat16(normalized(x.float()))
    assert not has_precision_of_bfloat16(F.batch_norm(x.float(), None, None, training=True))


def test_casts_by_the_program_keep_full_precision() -> None:
    x = low_precision(2, 3, 8)
    normalized(x)
    third = torch.full((), 1 / 3, device="mps")
    torch.testing.assert_close((x.float() + third).cpu(), x.cpu().float() + 1 / 3)
    assert not has_precision_of_bfloat16(x.float() + third)


WRITES = {
    "zero_": lambda x: x.zero_(),
    "add_": lambda x: x.add_(1),
    "relu_": lambda x: x.relu_(),
    "a part": lambda x: x[:, 1].fill_(7),
    "copy_": lambda x: x.copy_(torch.ones_like(x)),
    "out=": lambda x: torch.add(x, x, out=x),
    "a list": lambda x: torch._foreach_mul_([x], 3.0),
    "random": lambda x: x.uniform_(),
    "resize_": lambda x: x.resize_(1).zero_(),
}


def family() -> dict[str, torch.Tensor]:
    """Tensors that stand for few bytes in memory."""
    x = low_precision(2, 3, 8)
    y = normalized(x)
    return {
        "x": x,
        "y": y,
        "cast": y.bfloat16(),
        "cast back": y.bfloat16().float(),
        "relu": y.relu(),
    }


@pytest.mark.parametrize("written", ["x", "y", "cast", "cast back", "relu"])
@pytest.mark.parametrize("name", WRITES)
def test_writing_to_one_leaves_the_others_alone(name: str, written: str) -> None:
    expected = {key: tensor.cpu() for key, tensor in family().items()}
    tensors = family()
    WRITES[name](tensors.pop(written))
    for key, tensor in tensors.items():
        torch.testing.assert_close(tensor.cpu(), expected[key], rtol=0, atol=0)


@pytest.mark.parametrize("written", ["x", "y", "cast", "cast back", "relu"])
@pytest.mark.parametrize("name", [name for name in WRITES if name != "random"])
def test_writing_has_its_effect(name: str, written: str) -> None:
    found, expected = family()[written], family()[written].cpu()
    WRITES[name](found)
    WRITES[name](expected)
    torch.testing.assert_close(found.cpu(), expected, rtol=2**-8, atol=1e-6)


def test_views_show_what_is_written() -> None:
    y = normalized(low_precision(2, 3, 8))
    row, flat, bits = y[1], y.view(-1), y.view(torch.int32)
    y.relu_()
    assert row.min() >= 0
    flat[0] = 5
    assert y[0, 0, 0] == 5
    assert bits[0, 0, 0] == 0x40A00000
    row.fill_(2)
    torch.testing.assert_close(flat[24:].cpu(), torch.full((24,), 2.0))


def test_what_its_dtype_is_called_does_not_matter() -> None:
    y = normalized(low_precision(2, 3, 8))
    halves = y.view(torch.bfloat16)
    assert halves.shape == (2, 3, 16)
    low = halves[..., 0::2]  # the lower half of each float32, on a machine of this byte order
    assert (low.cpu().view(torch.int16) == 0).all()


def test_bytes_are_there_for_whoever_asks() -> None:
    y = normalized(low_precision(2, 3, 8))
    expected = y.clone()
    for read in (
        lambda t: t.numpy(force=True),
        lambda t: torch.tensor(t.tolist()).numpy(),
        lambda t: copy.deepcopy(t).cpu().numpy(),
        lambda t: torch.stack([t, t])[1].cpu().numpy(),
        lambda t: t.reshape(48)[torch.arange(48)].reshape(2, 3, 8).cpu().numpy(),
    ):
        fresh = normalized(low_precision(2, 3, 8))
        torch.testing.assert_close(torch.from_numpy(read(fresh)), expected.cpu(), rtol=0, atol=0)
    fresh = normalized(low_precision(2, 3, 8))
    assert fresh.data_ptr() != 0
    torch.testing.assert_close(fresh, expected, rtol=0, atol=0)
    file = io.BytesIO()
    torch.save(normalized(low_precision(2, 3, 8)), file)
    file.seek(0)
    torch.testing.assert_close(torch.load(file), expected, rtol=0, atol=0)


def test_metal_kernels_read_and_write_it() -> None:
    library = torch.mps.compile_shader("""
        kernel void twice(device float* to, device const float* from,
                          uint i [[thread_position_in_grid]]) {
            to[i] = 2 * from[i];
        }
    """)
    y = normalized(low_precision(2, 3, 8))
    expected = 2 * normalized(low_precision(2, 3, 8)).cpu()
    low = y.bfloat16()
    out = normalized(low_precision(2, 3, 8))
    library.twice(out, y)
    torch.testing.assert_close(out.cpu(), expected)
    library.twice(y, y)
    torch.testing.assert_close(y.cpu(), expected)
    torch.testing.assert_close(2 * low.cpu().float(), expected)


def test_memory_is_counted_as_if_all_had_bytes(settled: None) -> None:
    def figures() -> list[int]:
        found = []

        def note() -> None:
            found.append(torch.mps.current_allocated_memory() - start)

        start = torch.mps.current_allocated_memory()
        x = low_precision(8, 64, 32)
        note()
        with autocast():
            y = F.batch_norm(x, None, None, training=True)
            note()
            low = y.bfloat16()
            note()
            del x
            note()
            y.relu_()
            note()
            y.sum()
            note()
            del y
            note()
        low.zero_()
        note()
        del low
        note()
        return found

    found = figures()
    core.load().narrow_autocast(False)
    assert found == figures()
    assert found[-1] == 0
    assert found[1] - found[0] >= 8 * 64 * 32 * 4


def test_gradients_of_weights_add_up_in_full_precision() -> None:
    weight = torch.full((4, 4, 1, 1), 0.3, device="mps", requires_grad=True)
    for scale in (1.0, 1 / 300):
        with autocast():
            y = F.conv2d(torch.ones(1, 4, 5, 5, device="mps"), weight)
            y = F.batch_norm(y, torch.zeros(4, device="mps"), torch.ones(4, device="mps"))
            y = F.conv2d(y, weight)
        (y.float() * scale).sum().backward()
    assert weight.grad.dtype == torch.float32
    assert not has_precision_of_bfloat16(weight.grad)


def test_a_change_that_the_gradient_cannot_follow_is_found() -> None:
    weight = torch.ones(3, 3, 1, 1, device="mps", requires_grad=True)
    with autocast():
        x = F.conv2d(torch.rand(2, 3, 4, 4, device="mps"), weight)
        z = torch.relu(F.batch_norm(x, None, None, training=True))
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_an_operator_complains_in_the_same_words() -> None:
    def error(on: bool) -> str:
        core.load().narrow_autocast(on)
        a, b = normalized(low_precision(2, 3, 8)), normalized(low_precision(2, 3, 4))
        with pytest.raises(RuntimeError) as caught:
            a + b
        return str(caught.value)

    assert error(True) == error(False)


def test_threads_may_ask_at_once() -> None:
    y = normalized(low_precision(2, 3, 800))
    expected = normalized(low_precision(2, 3, 800)).cpu()
    found: list[bool] = []

    def read() -> None:
        found.append((torch.relu(y).cpu().equal(expected.relu())) and y.cpu().equal(expected))

    for _ in range(20):
        y = normalized(low_precision(2, 3, 800))
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [True] * 80


def test_running_statistics_that_are_lazy_clones_write_to_no_other() -> None:
    mean = torch.zeros(2, device="mps")
    clone = torch._lazy_clone(mean)
    variance = torch.ones(2, device="mps")
    data = low_precision(2, 2, 3)
    with autocast():
        F.batch_norm(data, clone, variance, training=True)
    F.batch_norm(data.float(), clone, variance, training=True)
    assert mean.cpu().equal(torch.zeros(2))
    assert not clone.cpu().equal(torch.zeros(2))
