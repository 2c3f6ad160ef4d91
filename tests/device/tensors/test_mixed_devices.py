from __future__ import annotations

import re

import pytest
import torch

from ..agreement import assert_matches

MESSAGE = (
    "Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu!"
)
UNALLOCATED = "Placeholder storage has not been allocated on MPS device!"

# Operators that look at all their tensors before they start.
POINTWISE = {
    "add": torch.add,
    "mul": torch.mul,
    "atan2": torch.atan2,
    "where": lambda a, b: torch.where(a > 0, a, b),
    "lerp": lambda a, b: torch.lerp(a, b, 0.5),
    "logical_and": torch.logical_and,
    "maximum": torch.maximum,
    "kron": torch.kron,
    "in_place_add": lambda a, b: a.clone().add_(b),
    "in_place_pow": lambda a, b: a.clone().pow_(b),
}
# Operators that find out when they bind a tensor's memory.
OTHERS = {
    "mm": torch.mm,
    "matmul": torch.matmul,
    "cat": lambda a, b: torch.cat([a, b]),
    "stack": lambda a, b: torch.stack([a, b]),
    "mse_loss": torch.nn.functional.mse_loss,
    "cdist": torch.cdist,
    "solve": torch.linalg.solve,
    "embedding": lambda a, b: torch.nn.functional.embedding(a.long(), b),
    "layer_norm": lambda a, b: torch.nn.functional.layer_norm(a, (2,), b[0]),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("devices", [("mps", "cpu"), ("cpu", "mps")])
def test_memory_elsewhere_is_not_found(name, devices):
    left, right = (torch.ones(2, 2, device=device) for device in devices)
    with pytest.raises(RuntimeError) as refused:
        OTHERS[name](left, right)
    assert str(refused.value) == UNALLOCATED


@pytest.mark.parametrize("name", POINTWISE)
@pytest.mark.parametrize("devices", [("mps", "cpu"), ("cpu", "mps")])
def test_tensors_with_dimensions_do_not_mix(name, devices):
    left, right = (torch.ones(2, 2, device=device) for device in devices)
    with pytest.raises(RuntimeError) as refused:
        POINTWISE[name](left, right)
    assert str(refused.value) == MESSAGE


# These have words of their own.
OWN_WORDS = {
    "linear input": (
        lambda a, b: torch.nn.functional.linear(b, a),
        "Tensor for argument input is on cpu but expected on mps",
    ),
    "linear weight": (
        torch.nn.functional.linear,
        "Tensor for argument weight is on cpu but expected on mps",
    ),
    "linear bias": (
        lambda a, b: torch.nn.functional.linear(a, a, b[0]),
        "Tensor for argument bias is on cpu but expected on mps",
    ),
    "dot": (
        lambda a, b: torch.dot(a[0], b[0]),
        "Expected all tensors to be on the same device. Found: mps:0, cpu",
    ),
    "masked_fill": (
        lambda a, b: a.masked_fill(b > 0, 1.0),
        "expected self and mask to be on the same device, but got mask on cpu and self on mps:0",
    ),
    "equal": (torch.equal, MESSAGE),
    "gather": (lambda a, b: a.gather(0, b.long()), "Passed CPU tensor to MPS op"),
    "scatter": (lambda a, b: a.scatter(0, b.long(), a), "Passed CPU tensor to MPS op"),
    "scatter_add": (lambda a, b: a.scatter_add(0, a.long(), b), "Passed CPU tensor to MPS op"),
    "scatter_reduce": (
        lambda a, b: a.scatter_reduce(0, b.long(), a, "amax"),
        "Passed CPU tensor to MPS op",
    ),
    "convolution input": (
        lambda a, b: torch.conv1d(b[None], a[None]),
        "slow_conv2d_forward_mps: input(device='cpu') and weight(device=mps:0')  must be on the "
        "same device",
    ),
    "convolution weight": (
        lambda a, b: torch.conv1d(a[None], b[None]),
        "Input type (MPSFloatType) and weight type (torch.FloatTensor) should be the same",
    ),
    "convolution bias": (
        lambda a, b: torch.conv1d(a[None], a[None], b[0, :1]),
        "Input type (MPSFloatType) and bias type (torch.FloatTensor) should be the same",
    ),
}


@pytest.mark.parametrize("name", OWN_WORDS)
def test_some_operators_have_words_of_their_own(name):
    call, text = OWN_WORDS[name]
    with pytest.raises(RuntimeError) as refused:
        call(torch.ones(2, 2, device="mps"), torch.ones(2, 2))
    assert str(refused.value) == text


@pytest.mark.parametrize("function", [torch.add, torch.mul, torch.div, torch.pow, torch.atan2])
def test_a_cpu_tensor_without_dimensions_is_a_scalar(function):
    tensor, scalar = torch.arange(1.0, 4), torch.tensor(2.0)
    assert_matches(function(tensor.to("mps"), scalar), function(tensor, scalar))
    assert_matches(function(scalar, tensor.to("mps")), function(scalar, tensor))


def test_comparison_and_where_take_cpu_scalars():
    tensor, scalar = torch.arange(1.0, 4), torch.tensor(2.0)
    mps = tensor.to("mps")
    assert_matches(mps > scalar, tensor > scalar)
    assert_matches(torch.where(mps > 1, mps, scalar), torch.where(tensor > 1, tensor, scalar))
    assert_matches(torch.maximum(mps, scalar), torch.maximum(tensor, scalar))
    assert_matches(mps.clamp(min=scalar), tensor.clamp(min=scalar))


def test_in_place_takes_a_cpu_scalar():
    tensor, expected = torch.arange(3.0, device="mps"), torch.arange(3.0)
    tensor.mul_(torch.tensor(3.0)).masked_fill_(tensor > 3, torch.tensor(-1.0))
    expected.mul_(torch.tensor(3.0)).masked_fill_(expected > 3, torch.tensor(-1.0))
    assert_matches(tensor, expected)


def test_a_cpu_scalar_is_no_place_to_write_an_mps_tensor():
    with pytest.raises(RuntimeError):
        torch.tensor(1.0).add_(torch.ones(3, device="mps"))


def test_an_mps_scalar_does_not_mix_with_a_cpu_tensor():
    with pytest.raises(RuntimeError, match=re.escape(MESSAGE)):
        torch.ones(3) + torch.ones(3, device="mps")
    with pytest.raises(RuntimeError, match=re.escape(MESSAGE)):
        torch.ones(3) + torch.tensor(1.0, device="mps")


def test_cpu_scalars_get_gradients():
    tensor = torch.arange(3.0, device="mps", requires_grad=True)
    scalar = torch.tensor(2.0, requires_grad=True)
    (tensor * scalar).sum().backward()
    assert_matches(tensor.grad, torch.full((3,), 2.0))
    assert scalar.grad.device.type == "cpu"
    torch.testing.assert_close(scalar.grad, torch.tensor(3.0), rtol=0, atol=0)


def test_type_promotion_sees_a_cpu_scalar_as_a_scalar():
    tensor = torch.ones(3, dtype=torch.float16)
    scalar = torch.tensor(2.0)
    assert_matches(tensor.to("mps") + scalar, tensor + scalar)


def test_module_and_input_on_different_devices_raise():
    with pytest.raises(RuntimeError, match="argument input is on cpu but expected on mps"):
        torch.nn.Linear(2, 2).to("mps")(torch.ones(1, 2))
    with pytest.raises(RuntimeError, match=r"^slow_conv2d_forward_mps: input"):
        torch.nn.Conv2d(1, 1, 1).to("mps")(torch.ones(1, 1, 2, 2))
    with pytest.raises(RuntimeError, match=re.escape(UNALLOCATED)):
        torch.nn.Embedding(4, 2).to("mps")(torch.tensor([1, 2]))


def test_mixed_tensors_after_an_error_still_work():
    tensor = torch.ones(3, device="mps")
    for _ in range(3):
        with pytest.raises(RuntimeError, match=re.escape(MESSAGE)):
            tensor + torch.ones(3)
    assert_matches(tensor + 1, torch.full((3,), 2.0))


def test_meta_tensors_do_not_mix():
    with pytest.raises(RuntimeError):
        torch.ones(3, device="mps") + torch.ones(3, device="meta")
