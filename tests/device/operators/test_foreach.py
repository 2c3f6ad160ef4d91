"""Operators on lists: the engine's own kernels where they do what a Mac's loop does."""

from __future__ import annotations

import pytest
import torch

from ..agreement import assert_matches

LISTS = {
    "_foreach_add": lambda a, b: torch._foreach_add(a, b, alpha=0.5),
    "_foreach_mul scalars": lambda a, b: torch._foreach_mul(a, [1.0, 2.0, 3.0]),
    "_foreach_mul tensor": lambda a, b: torch._foreach_mul(a, b[2].sum()),
    "_foreach_div": torch._foreach_div,
    "_foreach_addcmul": lambda a, b: torch._foreach_addcmul(a, b, b, 0.25),
    "_foreach_lerp": lambda a, b: torch._foreach_lerp(a, b, 0.1),
    "_foreach_sqrt": lambda a, b: torch._foreach_sqrt(torch._foreach_abs(a)),
    "_foreach_norm": lambda a, b: torch._foreach_norm(a, 2),
    "_foreach_max": lambda a, b: torch._foreach_max(a),
    "_foreach_maximum": lambda a, b: torch._foreach_maximum(a, b),
    "_foreach_pow": lambda a, b: torch._foreach_pow(a, 2.0),
}


def lists(device, dtype=torch.float32):
    torch.manual_seed(0)
    made = [[torch.randn(size).to(dtype) for size in ((3, 4), (5,), (2, 2))] for _ in range(2)]
    return [[tensor.to(device) for tensor in each] for each in made]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_results_are_the_cpus(name, dtype):
    got = LISTS[name](*lists("mps", dtype))
    assert all(tensor.device.type == "mps" for tensor in got)
    assert_matches(got, LISTS[name](*lists("cpu", dtype)))


def test_in_place_counts_a_version_and_writes_the_tensors():
    (a, b), (want, other) = lists("mps"), lists("cpu")
    versions = [tensor._version for tensor in a]
    torch._foreach_add_(a, b)
    torch._foreach_add_(want, other)
    assert [tensor._version for tensor in a] == [version + 1 for version in versions]
    assert_matches(a, want)


def test_a_tensor_that_is_there_twice_is_computed_twice():
    tensor = torch.zeros(1000, device="mps")
    torch._foreach_add_([tensor, tensor], 1.0)
    assert tensor.eq(2).all()
    halves = [tensor[:500], tensor[500:], tensor[:500]]
    torch._foreach_mul_(halves, 3.0)
    assert tensor[:500].eq(18).all()
    assert tensor[500:].eq(6).all()


def test_other_dtypes_and_layouts_go_through_the_loop():
    whole = [torch.arange(4, device="mps"), torch.ones(2, dtype=torch.int32, device="mps")]
    assert [tensor.tolist() for tensor in torch._foreach_add(whole, 1)] == [[1, 2, 3, 4], [2, 2]]
    mixed = [torch.ones(2, 3, device="mps"), torch.ones(2, dtype=torch.float16, device="mps")]
    assert [tensor.dtype for tensor in torch._foreach_mul(mixed, 2.0)] == [
        torch.float32,
        torch.float16,
    ]
    crossed = [torch.ones(2, 3, device="mps").t()], [torch.ones(3, 2, device="mps")]
    assert torch._foreach_add(*crossed)[0].eq(2).all()


def test_a_number_may_come_from_the_cpu():
    tensors = [torch.ones(3, device="mps"), torch.ones(2, device="mps")]
    torch._foreach_mul_(tensors, torch.tensor(3.0))
    assert all(tensor.eq(3).all() for tensor in tensors)


def test_gradients_pass_through():
    leaves = [torch.ones(3, device="mps", requires_grad=True) for _ in range(3)]
    sum(tensor.sum() for tensor in torch._foreach_mul(leaves, 2.0)).backward()
    assert all(leaf.grad.eq(2).all() for leaf in leaves)


def test_lists_of_two_devices_are_refused():
    with pytest.raises(RuntimeError):
        torch._foreach_add([torch.ones(2, device="mps")], [torch.ones(2)])


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_a_profiler_sees_the_loop():
    a, b = lists("mps")
    with torch.profiler.profile() as recorded:
        torch._foreach_add_(a, b)
    assert "aten::_foreach_add_" in {event.key for event in recorded.key_averages()}
