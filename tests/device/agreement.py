"""Holds what mps answers to what the cpu answers to the same question.

On the CPU engine the answers have the same bits. On the CUDA engine other kernels compute them:
shapes, dtypes, strides and whole numbers are the same, and floats as close as `tolerances` says.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_flatten, tree_map_only

from openmps.device.activation import active

# torch.testing's own, by the precision of the dtype.
_CUDA_RTOL = {
    torch.float16: 1e-3,
    torch.bfloat16: 1.6e-2,
    torch.float32: 1.3e-6,
    torch.complex32: 1e-3,
    torch.complex64: 1.3e-6,
}
_CUDA_ATOL = 1e-5
_IN_GRADIENTS = 4  # the result, its square, and the way back through what was kept of the way there


def on_cuda() -> bool:
    now = active()
    return now is not None and now.engine == "cuda"


def tolerances(
    expected: torch.Tensor, rtol: float = 0, atol: float = 0, roundings: int = 1
) -> dict[str, float]:
    """How far a tensor may be from `expected`: what the test says, on the CPU engine.

    On the CUDA engine at least what torch.testing allows its dtype; and an element is compared with
    the tensor's largest one, too: it may be a sum whose terms, of that size, cancel each other.
    roundings: how many such results in a row led there.
    """
    if not on_cuda() or expected.dtype not in _CUDA_RTOL:
        return {"rtol": rtol, "atol": atol}
    relative = max(rtol, roundings * _CUDA_RTOL[expected.dtype])
    sizes = expected.detach().to_dense().abs().float()
    sizes = sizes[sizes.isfinite()]
    largest = sizes.max().item() if sizes.numel() else 0.0
    return {"rtol": relative, "atol": max(atol, _CUDA_ATOL, relative * largest)}


def as_fused() -> dict[str, Any]:
    """For assert_matches, where the CUDA engine has a fused attention.

    It adds in blocks, rescales what it has added, and lays heads beside each other.
    """
    return {"rtol": 1e-5, "strides": False} if on_cuda() else {}


def assert_near(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Two tensors, on any device, are the same as far as the engine goes."""
    expected = expected.detach().cpu()
    torch.testing.assert_close(
        actual.detach().cpu(), expected, equal_nan=True, **tolerances(expected)
    )


def assert_matches(
    actual: Any,
    expected: Any,
    *,
    rtol: float = 0,
    atol: float = 0,
    strides: bool = True,
    roundings: int = 1,
) -> None:
    """Every tensor in `actual` lives on mps and equals its counterpart on the cpu."""
    actual_leaves, actual_shape = tree_flatten(actual)
    expected_leaves, expected_shape = tree_flatten(expected)
    assert actual_shape == expected_shape
    for got, want in zip(actual_leaves, expected_leaves, strict=True):
        if not isinstance(want, torch.Tensor):
            assert got == want
            continue
        assert got.device == torch.device("mps:0")
        assert got.layout == want.layout
        assert got.requires_grad == want.requires_grad
        compared = strides and not (on_cuda() and want.numel() == 0)  # of nothing, CUDA has any
        if want.layout == torch.strided and compared:
            assert got.stride() == want.stride()
        torch.testing.assert_close(
            got.detach().cpu(),
            want.detach(),
            equal_nan=True,
            **tolerances(want, rtol, atol, roundings),
        )


def on_mps(values: Any) -> Any:
    """A copy of `values` on mps: leaves stay leaves, strides stay."""

    def move(tensor: torch.Tensor) -> torch.Tensor:
        moved = torch.empty_strided(
            tensor.size(), tensor.stride(), dtype=tensor.dtype, device="mps"
        )
        moved.copy_(tensor.detach())
        return moved.requires_grad_(tensor.requires_grad)

    return tree_map_only(torch.Tensor, move, values)


def as_a_mac_attends(*values: Any) -> contextlib.AbstractContextManager[Any]:
    """For the CPU's side: where these need gradients, a Mac's attention is the plain formula."""
    leaves = tree_flatten(values)[0]
    if torch.is_grad_enabled() and any(getattr(leaf, "requires_grad", False) for leaf in leaves):
        return sdpa_kernel(SDPBackend.MATH)
    return contextlib.nullcontext()


def assert_agrees(function: Callable[..., Any], *inputs: Any, **options: Any) -> None:
    """`function` gives the same results, and the same gradients, on both devices.

    options: those of assert_matches.
    """
    with as_a_mac_attends(inputs):
        expected = function(*inputs)
    mps_inputs = on_mps(inputs)
    actual = function(*mps_inputs)
    assert_matches(actual, expected, **options)
    if not _scalar(expected).requires_grad:
        return
    wanted = [t for t in tree_flatten(inputs)[0] if _has_gradient(t)]
    given = [t for t in tree_flatten(mps_inputs)[0] if _has_gradient(t)]
    assert_matches(
        torch.autograd.grad(_scalar(actual), given, allow_unused=True),
        torch.autograd.grad(_scalar(expected), wanted, allow_unused=True),
        roundings=_IN_GRADIENTS,
        **options,
    )


def assert_module_agrees(module: torch.nn.Module, *inputs: Any, **options: Any) -> None:
    """`module` agrees in outputs, gradients of inputs and parameters, and buffers.

    options: those of assert_matches.
    """
    twin = copy.deepcopy(module).to("mps")
    mps_inputs = on_mps(inputs)
    with as_a_mac_attends(inputs, list(module.parameters())):
        expected = module(*inputs)
    actual = twin(*mps_inputs)
    assert_matches(actual, expected, **options)
    if _scalar(expected).requires_grad:
        _scalar(expected).backward()
        _scalar(actual).backward()
    wanted = [t.grad for t in tree_flatten(inputs)[0] if _has_gradient(t)]
    given = [t.grad for t in tree_flatten(mps_inputs)[0] if _has_gradient(t)]
    assert_matches(given, wanted, roundings=_IN_GRADIENTS, **options)
    assert_matches(
        {name: p.grad for name, p in twin.named_parameters()},
        {name: p.grad for name, p in module.named_parameters()},
        roundings=_IN_GRADIENTS,
        **options,
    )
    assert_matches(dict(twin.named_buffers()), dict(module.named_buffers()), **options)


def _has_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _scalar(outputs: Any) -> torch.Tensor:
    # Squared, so that the incoming gradient is no constant.
    parts = [t for t in tree_flatten(outputs)[0] if isinstance(t, torch.Tensor)]
    floats = [t for t in parts if t.is_floating_point() or t.is_complex()]
    return sum((t.abs().float().square().sum() for t in floats), start=torch.zeros(()))
