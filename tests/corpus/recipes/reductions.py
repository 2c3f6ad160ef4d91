"""Sums, norms, minima, maxima: over all, inner, outer and strided dimensions."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence

import torch

from corpus.launching import DTYPES, Runner, float32, uint
from corpus.recipes import Check, add
from corpus.values import exactly, values

_MOST_DIMS = 16


def norm_params(
    p: float, reduced: int, sizes: Sequence[int], strides: Sequence[int],
    out_sizes: Sequence[int], out_strides: Sequence[int],
) -> bytes:  # fmt: skip
    lists = b"".join(
        struct.pack(f"={_MOST_DIMS}I", *values, *[0] * (_MOST_DIMS - len(values)))
        for values in (sizes, strides, out_sizes, out_strides)
    )
    return struct.pack("=fII", p, reduced, len(sizes)) + lists


def norm(name: str, result: str, p: float, run: Runner) -> Check:
    x = values(name, 4, 6, 50).permute(1, 0, 2)
    out = torch.zeros(1, 4, 1, dtype=DTYPES[result])
    params = norm_params(p, 300, x.shape, x.stride(), out.shape, out.stride())
    run(f"norm_{name}_{result}", x, out, params, threads=[4 * 300], group=[300])
    wide = x.to(torch.complex128 if x.is_complex() else torch.float64)
    expected = torch.linalg.vector_norm(wide, p, dim=(0, 2), keepdim=True)
    return Check(out, expected.to(out.dtype), 1e-4 if result == "float" else None)


for _p in (2.0, 1.0, 0.0, 3.5, float("inf"), float("-inf")):
    add("ReduceOps", f"norm {_p}", functools.partial(norm, "float", "float", _p))
add("ReduceOps", "norm half", functools.partial(norm, "half", "half", 2.0))
add("ReduceOps", "norm float2", functools.partial(norm, "float2", "float", 2.0))

Function = Callable[..., torch.Tensor]
# prefix -> (what it computes over dimensions, input and result types)
SUMS: dict[str, tuple[Function, Sequence[tuple[str, str]]]] = {
    "sum_": (torch.sum, [("float", "float"), ("half", "float"), ("bfloat", "bfloat"),
                         ("int", "long"), ("uchar", "long"), ("bool", "long"),
                         ("float2", "float2")]),
    "nansum_": (torch.nansum, [("float", "float"), ("half", "half")]),
    "count_nonzero_": (torch.count_nonzero, [("float", "long"), ("int", "long"),
                                             ("float2", "long")]),
}  # fmt: skip
VALUES: dict[str, tuple[Function, Sequence[tuple[str, str]]]] = {
    "max_": (torch.amax, [("float", "float"), ("half", "half"), ("long", "long"),
                          ("uchar", "uchar")]),
    "min_": (torch.amin, [("float", "float"), ("bfloat", "bfloat"), ("short", "short")]),
    "all_": (torch.all, [("float", "uchar"), ("int", "uchar")]),
    "any_": (torch.any, [("half", "uchar"), ("bool", "uchar")]),
}  # fmt: skip


def _input(prefix: str, name: str, *shape: int) -> torch.Tensor:
    x = values(name, *shape)
    if prefix == "nansum_":
        x.masked_fill_(torch.rand(shape) < 0.1, float("nan"))
    if prefix == "all_":
        x = torch.where(torch.rand(shape) < 0.03, torch.zeros_like(x), torch.ones_like(x))
    elif prefix in ("any_", "count_nonzero_"):
        x = torch.where(torch.rand(shape) < 0.97, torch.zeros_like(x), x)
    return x


def general(
    prefix: str, function: Function, name: str, result: str, mean: bool, run: Runner
) -> Check:
    """Several dimensions at once, in any order."""
    x = _input(prefix, name, 4, 6, 50).permute(1, 0, 2)
    out = torch.zeros(1, 4, 1).to(DTYPES[result])
    params = norm_params(300.0 if mean else 0.0, 300, x.shape, x.stride(), out.shape, out.stride())
    run(f"{prefix}reduction_{name}_{result}", x, out, params, threads=[4 * 320], group=[320])
    flat = x.permute(1, 0, 2).reshape(4, 300)
    expected = exactly(lambda t: function(t, dim=1), flat)
    expected = expected / 300 if mean else expected
    return Check(out.flatten(), expected.to(out.dtype))


def inner(prefix: str, function: Function, name: str, result: str, run: Runner) -> Check:
    x = _input(prefix, name, 37, 101)
    out = torch.zeros(37).to(DTYPES[result])
    run(f"{prefix}reduction_inner_{name}_{result}", x, out, uint(37, 101), float32(0.0),
        threads=[5 * 256], group=[256])  # fmt: skip
    return Check(out, exactly(lambda t: function(t, dim=1), x).to(out.dtype))


def outer(prefix: str, function: Function, name: str, result: str, run: Runner) -> Check:
    x = _input(prefix, name, 101, 37)
    out = torch.zeros(37).to(DTYPES[result])
    run(f"{prefix}reduction_outer_{name}_{result}", x, out, uint(101, 37, 1), float32(0.0),
        threads=[64, 32], group=[32, 32])  # fmt: skip
    return Check(out, exactly(lambda t: function(t, dim=0), x).to(out.dtype))


def strided_then_whole(name: str, run: Runner) -> Check:
    """A whole tensor with gaps: partial sums, then their sum."""
    x = values(name, 20, 30, 12).permute(2, 0, 1)[::2]
    groups, each = 10, 360
    partial, out = torch.zeros(groups), torch.zeros(1)
    run(f"sum_reduction_strided_{name}_float", x, partial,
        norm_params(0, each, x.shape, x.stride(), [], []), threads=[groups * 384],
        group=[384])  # fmt: skip
    run("sum_reduction_float_float", partial, out, norm_params(0, groups, [groups], [1], [1], [0]),
        threads=[32], group=[32])  # fmt: skip
    return Check(out, x.double().sum().reshape(1).float(), 1e-4)


def square_root_of_sum(run: Runner) -> Check:
    """A 2-norm over the last dimension goes through the inner sum."""
    x, out = values("float", 37, 101), torch.zeros(37)
    run("norm_l2_reduction_inner_float_float", x, out, uint(37, 101), float32(0.0),
        threads=[5 * 256], group=[256])  # fmt: skip
    return Check(out, torch.linalg.vector_norm(x.double(), dim=1).float())


for _table in (SUMS, VALUES):
    for _prefix, (_function, _types) in _table.items():
        for _name, _result in _types:
            _common = (_prefix, _function, _name, _result)
            add("ReduceOps", f"{_prefix}inner {_name}", functools.partial(inner, *_common))
            add("ReduceOps", f"{_prefix}outer {_name}", functools.partial(outer, *_common))
            add("ReduceOps", f"{_prefix}{_name}", functools.partial(general, *_common, False))
add("ReduceOps", "mean", functools.partial(general, "sum_", torch.sum, "float", "float", True))
add("ReduceOps", "strided sum float", functools.partial(strided_then_whole, "float"))
add("ReduceOps", "strided sum half", functools.partial(strided_then_whole, "half"))
add("ReduceOps", "norm over the last dimension", square_root_of_sum)
