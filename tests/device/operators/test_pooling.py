"""Pooling of rows: the CPU's kernel without indices, and a Mac's operators for whoever watches."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import max_pool1d
from torch.utils._python_dispatch import TorchDispatchMode

from openmps.device.activation import active

now = active()
ON_CUDA = now is not None and now.engine == "cuda"

ROWS = torch.tensor([[[3.0, -1.0, float("nan"), 2.0, 7.0, 0.5, float("inf"), 4.0]]])


class Names(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.seen.append(func.name())
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 1, "padding": 1},
        {"kernel_size": 3, "stride": 2, "dilation": 2, "ceil_mode": True},
    ],
)
def test_rows_are_pooled_as_on_the_cpu(options: dict[str, int]) -> None:
    for rows in (ROWS, ROWS[0], ROWS.expand(3, 4, 8)):
        got = max_pool1d(rows.to("mps"), **options)
        assert got.device.type == "mps"
        torch.testing.assert_close(got.cpu(), max_pool1d(rows, **options), equal_nan=True)


def test_a_gradient_is_that_of_the_cpu() -> None:
    on_cpu = torch.arange(12.0).view(1, 2, 6).requires_grad_()
    on_mps = on_cpu.detach().to("mps").requires_grad_()
    for rows in (on_cpu, on_mps):
        max_pool1d(rows, 2).square().sum().backward()
    assert on_mps.grad is not None
    assert on_cpu.grad is not None
    assert torch.equal(on_mps.grad.cpu(), on_cpu.grad)


def test_forward_gradients_and_batches_go_through() -> None:
    rows = torch.arange(12.0, device="mps").view(1, 2, 6)
    _, tangent = torch.func.jvp(lambda x: max_pool1d(x, 2), (rows,), (torch.ones_like(rows),))
    assert torch.equal(tangent.cpu(), torch.ones(1, 2, 3))
    batched = torch.func.vmap(lambda x: max_pool1d(x, 2))(rows)
    assert torch.equal(batched.cpu(), max_pool1d(rows.cpu(), 2))


@pytest.mark.skipif(ON_CUDA, reason="there the operators are always a Mac's")
def test_whoever_watches_operators_sees_those_of_a_mac() -> None:
    with Names() as names:
        max_pool1d(ROWS.to("mps"), 2)
    assert any(name.startswith("aten::max_pool2d") for name in names.seen)


def test_a_kernel_that_does_not_fit_is_refused() -> None:
    with pytest.raises(RuntimeError):
        max_pool1d(ROWS.to("mps"), 2, padding=2)
