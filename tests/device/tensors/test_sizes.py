from __future__ import annotations

import pytest
import torch

from ..agreement import assert_agrees, assert_matches

EMPTY = {
    "add": lambda t: t + 1,
    "sum": lambda t: t.sum(),
    "sum_over_nothing": lambda t: t.sum(0),
    "mean_over_something": lambda t: t.mean(1),
    "matmul": lambda t: t.t() @ t,
    "matmul_of_nothing": lambda t: t @ t.t(),
    "softmax": lambda t: torch.softmax(t, 1),
    "cat": lambda t: torch.cat([t, t]),
    "clone": lambda t: t.clone(),
    "sort": lambda t: t.sort(1).values,
    "index": lambda t: t[t > 0],
    "linear": lambda t: torch.nn.functional.linear(t, torch.ones(2, 3, device=t.device)),
    "layer_norm": lambda t: torch.nn.functional.layer_norm(t, (3,)),
    "reshape": lambda t: t.reshape(3, 0, 5),
    "prod": lambda t: t.prod(),
    "any": lambda t: (t > 0).any(),
    "all": lambda t: (t > 0).all(),
    "cumsum": lambda t: t.cumsum(0),
    "nonzero": lambda t: t.nonzero(),
    "flip": lambda t: t.flip(0),
    "norm": lambda t: t.norm(),
    "relu": torch.relu,
}


@pytest.mark.parametrize("name", EMPTY)
def test_operators_on_nothing(name):
    assert_agrees(EMPTY[name], torch.empty(0, 3, requires_grad=True))


def test_extremes_of_nothing_raise():
    with pytest.raises((RuntimeError, IndexError)):
        torch.empty(0, device="mps").max()
    with pytest.raises(IndexError):
        torch.empty(0, device="mps").argmax(0)


def test_in_place_on_nothing():
    tensor = torch.empty(0, device="mps")
    assert_matches(tensor.add_(1).zero_().fill_(3), torch.empty(0))
    assert_matches(tensor.copy_(torch.empty(0)), torch.empty(0))


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t + t,
        lambda t: t.sum(),
        lambda t: t.view(1),
        lambda t: t[None],
        lambda t: t.expand(3),
        lambda t: torch.stack([t, t]),
        lambda t: t.clamp(0, 1),
        lambda t: t.sort().values,
        lambda t: t.cumsum(0),
        lambda t: torch.softmax(t, 0),
        lambda t: t[...],
        lambda t: t.unsqueeze(0).squeeze(),
        lambda t: t.exp().log(),
    ],
)
def test_operators_without_dimensions(function):
    assert_agrees(function, torch.tensor(2.5, requires_grad=True))


def test_without_dimensions_there_is_nothing_to_iterate():
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        list(torch.tensor(1.0, device="mps"))


def test_many_dimensions():
    tensor = torch.arange(2.0**10).view([2] * 10)
    assert_agrees(lambda t: t.permute(*reversed(range(10))).sum((0, 5)) + 1, tensor)


def test_large_tensors():
    expected = torch.arange(1 << 20, dtype=torch.float32)
    assert_agrees(lambda t: t.view(1024, 1024).t().contiguous().sum(0), expected)


def test_lists_of_many_tensors():
    parts = [torch.full((3,), float(i)) for i in range(300)]
    moved = [p.to("mps") for p in parts]
    assert_matches(torch.cat(moved), torch.cat(parts))
    assert_matches(torch.stack(moved), torch.stack(parts))
    assert_matches(torch._foreach_add(moved, 1), torch._foreach_add(parts, 1))
    torch._foreach_mul_(moved, 2)
    assert_matches(moved[299], parts[299] * 2)


def test_lists_that_mix_devices_fall_back_one_by_one():
    mixed = torch._foreach_add([torch.zeros(2, device="mps"), torch.zeros(2)], 1)
    assert [t.device.type for t in mixed] == ["mps", "cpu"]
    assert_matches(mixed[0], torch.ones(2))
    targets = [torch.zeros(2, device="mps")]
    torch._foreach_copy_(targets, [torch.ones(2)])
    assert_matches(targets, [torch.ones(2)])
