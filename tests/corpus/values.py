"""Inputs for recipes, and the ways host code describes tensors to kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from corpus.launching import DTYPES, byte_strides, longs

# The numbers by which kernels know types (c10::ScalarType).
SCALAR_TYPES = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4,
    torch.float16: 5, torch.float32: 6, torch.complex32: 8, torch.complex64: 9,
    torch.bool: 11, torch.bfloat16: 15,
}  # fmt: skip


def values(name: str, *shape: int, low: float = -2.0, high: float = 2.0) -> torch.Tensor:
    """Evenly distributed in a range; `name` is one of Metal's types."""
    dtype = DTYPES[name]
    if dtype is torch.bool:
        return torch.rand(shape) < 0.5
    if dtype.is_complex:
        parts = torch.rand(*shape, 2) * (high - low) + low
        return torch.view_as_complex(parts).to(dtype)
    if dtype.is_floating_point:
        return (torch.rand(shape) * (high - low) + low).to(dtype)
    if not dtype.is_signed:
        low = max(low, 0)
    return torch.randint(math.ceil(low), math.floor(high) + 1, shape).to(dtype)


def exactly(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> torch.Tensor:
    """What `function` gives in high precision; integers stay as they are."""
    wide = [
        x.to(torch.complex128)
        if x.is_complex()
        else x.to(torch.float64)
        if x.is_floating_point()
        else x
        for x in inputs
    ]
    return function(*wide)


def innermost_first(tensor: torch.Tensor) -> bytes:
    return longs(byte_strides(tensor)[::-1])


def sizes_innermost_first(shape: Sequence[int]) -> bytes:
    return longs([*shape][::-1])


def with_gaps(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, in memory that is neither dense nor in order."""
    room = torch.zeros([*tensor.shape[::-1], 2], dtype=tensor.dtype)
    view = room[..., 0].permute(*reversed(range(tensor.ndim)))
    return view.copy_(tensor)
