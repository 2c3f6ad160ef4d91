from __future__ import annotations

import itertools

import pytest
import torch

from ..agreement import assert_matches

DTYPES = [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16,
          torch.float32, torch.complex64]  # fmt: skip
PAIRS = list(itertools.product(DTYPES, DTYPES))

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")


@pytest.mark.parametrize("function", [torch.add, torch.mul, torch.eq, torch.div, torch.maximum])
def test_two_tensors(function):
    for left, right in PAIRS:
        a, b = torch.ones(3, dtype=left), torch.ones(3, dtype=right)
        if function is torch.maximum and (left.is_complex or right.is_complex):
            continue
        assert_matches(function(a.to("mps"), b.to("mps")), function(a, b))


def is_known_to_the_cpu(*dtypes):
    """Newer releases have a complex type of two bfloat16s, with which the CPU does not multiply."""
    pair = torch.bfloat16 in dtypes and any(dtype.is_complex for dtype in dtypes)
    return not (pair and hasattr(torch, "bcomplex32"))


def test_a_tensor_with_one_without_dimensions():
    for left, right in PAIRS:
        if not is_known_to_the_cpu(left, right):
            continue
        a, b = torch.ones(3, dtype=left), torch.ones((), dtype=right)
        assert_matches(a.to("mps") * b.to("mps"), a * b)
        assert_matches(b.to("mps") * a.to("mps"), b * a)
        assert_matches(a.to("mps") * b, a * b)


@pytest.mark.parametrize("number", [True, 2, 2.5, 1 + 2j])
def test_a_tensor_with_a_python_number(number):
    for dtype in DTYPES:
        if not is_known_to_the_cpu(dtype, torch.tensor(number).dtype):
            continue
        tensor = torch.ones(3, dtype=dtype)
        assert_matches(tensor.to("mps") * number, tensor * number)
        assert_matches(number + tensor.to("mps"), number + tensor)
        assert_matches(tensor.to("mps") == number, tensor == number)


def test_numbers_keep_their_weakness_through_where_and_clamp():
    half = torch.tensor([1.0, -1.0], dtype=torch.float16)
    mps = half.to("mps")
    assert_matches(torch.where(mps > 0, mps, 0.5), torch.where(half > 0, half, 0.5))
    assert_matches(torch.where(mps > 0, 1.0, 0.0), torch.where(half > 0, 1.0, 0.0))
    assert_matches(mps.clamp(0, 0.5), half.clamp(0, 0.5))
    assert_matches(mps.lerp(mps * 2, 0.5), half.lerp(half * 2, 0.5))


def test_mixed_lists():
    parts = [torch.ones(2, dtype=torch.int32), torch.ones(2), torch.ones(2, dtype=torch.float16)]
    assert_matches(torch.cat([p.to("mps") for p in parts]), torch.cat(parts))
    assert_matches(torch.stack([p.to("mps") for p in parts]), torch.stack(parts))


def test_default_dtype_is_followed():
    torch.set_default_dtype(torch.bfloat16)
    try:
        assert_matches(torch.ones(2, device="mps"), torch.ones(2))
        assert_matches(torch.arange(3, device="mps") / 2, torch.arange(3) / 2)
    finally:
        torch.set_default_dtype(torch.float32)


def test_result_type():
    tensor = torch.ones(2, dtype=torch.float16, device="mps")
    assert torch.result_type(tensor, 1.5) == torch.float16
    assert torch.result_type(tensor, torch.ones(2, device="mps")) == torch.float32


def test_reductions_of_integers():
    tensor = torch.arange(4, dtype=torch.int32)
    for function in (torch.sum, torch.prod, torch.amax, torch.argmax, torch.cumsum, torch.any):
        arguments = (0,) if function is torch.cumsum else ()
        assert_matches(function(tensor.to("mps"), *arguments), function(tensor, *arguments))
