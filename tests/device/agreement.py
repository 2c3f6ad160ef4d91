"""Holds what mps answers to what the cpu answers to the same question."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_flatten, tree_map_only


def assert_matches(actual: Any, expected: Any, *, rtol: float = 0, atol: float = 0) -> None:
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
        if want.layout == torch.strided:
            assert got.stride() == want.stride()
        torch.testing.assert_close(
            got.detach().cpu(), want.detach(), rtol=rtol, atol=atol, equal_nan=True
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


def assert_agrees(function: Callable[..., Any], *inputs: Any) -> None:
    """`function` gives the same results, and the same gradients, on both devices."""
    with as_a_mac_attends(inputs):
        expected = function(*inputs)
    mps_inputs = on_mps(inputs)
    actual = function(*mps_inputs)
    assert_matches(actual, expected)
    if not _scalar(expected).requires_grad:
        return
    wanted = [t for t in tree_flatten(inputs)[0] if _has_gradient(t)]
    given = [t for t in tree_flatten(mps_inputs)[0] if _has_gradient(t)]
    assert_matches(
        torch.autograd.grad(_scalar(actual), given, allow_unused=True),
        torch.autograd.grad(_scalar(expected), wanted, allow_unused=True),
    )


def assert_module_agrees(
    module: torch.nn.Module, *inputs: Any, rtol: float = 0, atol: float = 0
) -> None:
    """`module` agrees in outputs, gradients of inputs and parameters, and buffers."""
    twin = copy.deepcopy(module).to("mps")
    mps_inputs = on_mps(inputs)
    with as_a_mac_attends(inputs, list(module.parameters())):
        expected = module(*inputs)
    actual = twin(*mps_inputs)
    assert_matches(actual, expected, rtol=rtol, atol=atol)
    if _scalar(expected).requires_grad:
        _scalar(expected).backward()
        _scalar(actual).backward()
    wanted = [t.grad for t in tree_flatten(inputs)[0] if _has_gradient(t)]
    given = [t.grad for t in tree_flatten(mps_inputs)[0] if _has_gradient(t)]
    assert_matches(given, wanted, rtol=rtol, atol=atol)
    assert_matches(
        {name: p.grad for name, p in twin.named_parameters()},
        {name: p.grad for name, p in module.named_parameters()},
        rtol=rtol,
        atol=atol,
    )
    assert_matches(dict(twin.named_buffers()), dict(module.named_buffers()), rtol=rtol, atol=atol)


def _has_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _scalar(outputs: Any) -> torch.Tensor:
    # Squared, so that the incoming gradient is no constant.
    parts = [t for t in tree_flatten(outputs)[0] if isinstance(t, torch.Tensor)]
    floats = [t for t in parts if t.is_floating_point() or t.is_complex()]
    return sum((t.abs().float().square().sum() for t in floats), start=torch.zeros(()))
