from __future__ import annotations

import pytest
import torch

from ..agreement import assert_matches

UNARY = [
    "abs_", "neg_", "exp_", "log1p_", "sqrt_", "sin_", "tanh_", "sigmoid_", "relu_", "floor_",
    "square_", "erf_", "zero_", "trunc_", "reciprocal_", "expm1_", "sign_",
]  # fmt: skip
BINARY = [
    "add_", "sub_", "mul_", "div_", "pow_", "copy_", "fmod_", "remainder_", "atan2_", "hypot_",
    "clamp_min_", "clamp_max_", "floor_divide_", "eq_", "lt_",
]  # fmt: skip


def source():
    return torch.linspace(0.5, 3, 12).view(3, 4).clone()


@pytest.mark.parametrize("name", UNARY)
def test_unary_writes_into_the_same_tensor(name):
    tensor, expected = source().to("mps"), source()
    before = tensor.data_ptr()
    assert getattr(tensor, name)() is tensor
    getattr(expected, name)()
    assert tensor.data_ptr() == before
    assert_matches(tensor, expected)


@pytest.mark.parametrize("name", BINARY)
def test_binary_writes_into_the_same_tensor(name):
    tensor, expected = source().to("mps"), source()
    other = torch.linspace(1, 2, 4)  # broadcast
    assert getattr(tensor, name)(other.to("mps")) is tensor
    getattr(expected, name)(other)
    assert_matches(tensor, expected)


@pytest.mark.parametrize("name", BINARY[:5])
def test_binary_takes_itself_as_the_other_side(name):
    tensor, expected = source().to("mps"), source()
    getattr(tensor, name)(tensor)
    getattr(expected, name)(expected)
    assert_matches(tensor, expected)


def test_writing_into_a_strided_view_touches_only_its_elements():
    for make in (lambda t: t[:, ::2], lambda t: t.t()[1:], lambda t: t.diagonal()):
        tensor, expected = source().to("mps"), source()
        make(tensor).mul_(-2)
        make(expected).mul_(-2)
        assert_matches(tensor, expected)


def test_transposing_in_place_changes_the_header_only():
    tensor = source().to("mps")
    before = tensor.data_ptr()
    assert tensor.t_() is tensor
    assert tensor.data_ptr() == before
    assert_matches(tensor, source().t())
    tensor.unsqueeze_(0).squeeze_(0).transpose_(0, 1)
    assert_matches(tensor, source())


def test_as_strided_in_place_changes_the_header_only():
    tensor, expected = source().to("mps"), source()
    tensor.as_strided_((2, 2), (1, 4), 3)
    expected.as_strided_((2, 2), (1, 4), 3)
    assert_matches(tensor, expected)


def test_filling_operators():
    for fill in (
        lambda t: t.fill_(3),
        lambda t: t.fill_(torch.tensor(4.0)),
        lambda t: t.fill_diagonal_(9),
        lambda t: t.masked_fill_(t > 1, 0),
        lambda t: t.index_fill_(0, torch.tensor([0, 2], device=t.device), 5),
        lambda t: t.scatter_(1, torch.zeros(3, 1, dtype=torch.long, device=t.device), 8),
        lambda t: t.scatter_add_(1, torch.zeros_like(t, dtype=torch.long), t.clone()),
        lambda t: t.index_add_(0, torch.tensor([0, 0], device=t.device), t[:2].clone()),
        lambda t: t.index_copy_(0, torch.tensor([2], device=t.device), t[:1].clone()),
        lambda t: t.masked_scatter_(t > 1, t.clone()),
        lambda t: t.tril_(),
        lambda t: t.addcmul_(t, t, value=2),
        lambda t: t.addcdiv_(t, t + 1),
        lambda t: t.lerp_(t * 2, 0.5),
        lambda t: t.addmm_(t[:, :3].clone(), t[:3].clone()),
        lambda t: t.clamp_(1, 2),
        lambda t: t.cumsum_(1),
        lambda t: t.nan_to_num_(),
        lambda t: t.swapdims_(0, 1),
    ):
        tensor, expected = source().to("mps"), source()
        assert fill(tensor) is tensor
        fill(expected)
        assert_matches(tensor, expected)


def test_put_agrees_through_the_fallback(fallback):
    tensor, expected = source().to("mps"), source()
    with fallback("aten::put_"):
        assert tensor.put_(torch.tensor([1, 3], device="mps"), tensor[0, :2].clone()) is tensor
    expected.put_(torch.tensor([1, 3]), expected[0, :2].clone())
    assert_matches(tensor, expected)


def test_in_place_result_keeps_the_dtype():
    tensor, expected = torch.arange(4, device="mps"), torch.arange(4)
    tensor.add_(2)
    expected.add_(2)
    assert_matches(tensor, expected)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        tensor.add_(0.5)
    assert_matches(tensor, expected)


def test_in_place_shape_mismatch_raises_and_leaves_the_tensor():
    tensor = source().to("mps")
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        tensor.add_(torch.ones(5, device="mps"))
    assert_matches(tensor, source())


def test_foreach_in_place_writes_every_tensor():
    expected = [torch.arange(3.0), torch.ones(2, 2)]
    tensors = [t.to("mps") for t in expected]
    torch._foreach_mul_(tensors, 3)
    torch._foreach_add_(tensors, [t.clone() for t in tensors])
    torch._foreach_mul_(expected, 3)
    torch._foreach_add_(expected, [t.clone() for t in expected])
    assert_matches(tensors, expected)


def test_foreach_with_one_tensor_twice_writes_it_twice():
    expected = torch.arange(3.0)
    tensor = expected.to("mps")
    torch._foreach_add_([tensor, tensor], 1)
    torch._foreach_add_([expected, expected], 1)
    assert_matches(tensor, expected)


def test_python_operators_write_in_place():
    tensor, expected = torch.arange(4, device="mps"), torch.arange(4)
    for t in (tensor, expected):
        t += 3
        t *= 2
        t //= 3
        t **= 2
        t %= 7
        t |= 1
        t <<= 1
    assert_matches(tensor, expected)
