"""Elementwise kernels: 38 definitions that six files instantiate with some hundred functors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch

from corpus.functors import BINARY, BINARY_ALPHA, UNARY, UNARY_ALPHA, Functor
from corpus.launching import DTYPES, Runner, byte_strides, long, longs, uint
from corpus.recipes import TOLERANCES, Check, add, recipe
from corpus.values import (
    SCALAR_TYPES,
    exactly,
    innermost_first,
    sizes_innermost_first,
    values,
    with_gaps,
)

SHAPE = (3, 5, 7)
DENSE = 203


def suffix(functor: Functor, result: str, name: str) -> str:
    if functor.alpha is None:
        return f"{result}_{name}"
    return f"{result}_{name}_" + (functor.alpha_type or "{}").format(name)


def tail(functor: Functor, name: str) -> list[bytes]:
    return [] if functor.alpha is None else [functor.alpha(name)]


def check(functor: Functor, out: torch.Tensor, *inputs: torch.Tensor) -> Check:
    expected = exactly(functor.function, *inputs).to(out.dtype)
    tolerance = functor.tolerance
    if tolerance is not None:
        tolerance = max(tolerance, TOLERANCES.get(out.dtype, 0.0))
    return Check(out, expected, tolerance)


def empty(result: str, *shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.float32).to(DTYPES[result]).zero_()


# ---- one input


def unary_dense(functor: Functor, result: str, name: str, run: Runner) -> list[Check]:
    x = values(name, DENSE, low=functor.low, high=functor.high)
    out = empty(result, DENSE)
    if functor.alpha is not None:
        run(f"{functor.name}_dense_{suffix(functor, result, name)}", out, x, *tail(functor, name),
            threads=[DENSE])  # fmt: skip
        return [check(functor, out, x)]
    again = empty(result, DENSE)
    run(f"{functor.name}_dense_{result}_{name}", out, x, uint(DENSE), threads=[-(-DENSE // 4)])
    run(f"{functor.name}_dense_scalar_{result}_{name}", again, x, threads=[DENSE])
    return [check(functor, out, x), check(functor, again, x)]


def unary_strided(functor: Functor, result: str, name: str, run: Runner) -> Check:
    x = with_gaps(values(name, *SHAPE, low=functor.low, high=functor.high))
    out = with_gaps(empty(result, *SHAPE))
    run(f"{functor.name}_strided_{suffix(functor, result, name)}", out, x,
        sizes_innermost_first(SHAPE), innermost_first(x), innermost_first(out), uint(len(SHAPE)),
        *tail(functor, name), threads=[SHAPE[-1], math.prod(SHAPE[:-1])])  # fmt: skip
    return check(functor, out, x)


def unary_castout(functor: Functor, cast_to: str, name: str, run: Runner) -> list[Check]:
    x = values(name, DENSE, low=functor.low, high=functor.high)
    out, again = empty(cast_to, DENSE), empty(cast_to, DENSE)
    size, code = out.element_size(), SCALAR_TYPES[out.dtype]
    run(f"{functor.name}_dense_castout_{name}", out, x, uint(size, code), threads=[DENSE])
    run(f"{functor.name}_dense_castout_ilp_{name}", again, x, uint(size, code, DENSE),
        threads=[-(-DENSE // 4)])  # fmt: skip
    shaped = with_gaps(values(name, *SHAPE, low=functor.low, high=functor.high))
    room = with_gaps(empty(cast_to, *SHAPE))
    run(f"{functor.name}_strided_castout_{name}", room, shaped, sizes_innermost_first(SHAPE),
        innermost_first(shaped), innermost_first(room), uint(len(SHAPE), code),
        threads=[SHAPE[-1], math.prod(SHAPE[:-1])])  # fmt: skip
    # The result has the precision of what was read.
    allowed = TOLERANCES.get(x.dtype, 0.0)
    found = [check(functor, out, x), check(functor, again, x), check(functor, room, shaped)]
    return [Check(one.actual, one.expected, max(one.allowed, allowed)) for one in found]


# ---- two inputs


def binary_dense(functor: Functor, result: str, name: str, run: Runner) -> Check:
    a = values(name, DENSE, low=functor.low, high=functor.high)
    b = values(name, DENSE, low=functor.low, high=functor.high)
    out = empty(result, DENSE)
    run(f"{functor.name}_dense_{suffix(functor, result, name)}", out, a, b, *tail(functor, name),
        threads=[DENSE])  # fmt: skip
    return check(functor, out, a, b)


def binary_shapes(functor: Functor, result: str, name: str, run: Runner) -> list[Check]:
    """Every way in which the two inputs may lie: dense, broadcast, one number, strided."""
    types = suffix(functor, result, name)
    more = tail(functor, name)
    checks = []

    def fresh(*shape: int) -> torch.Tensor:
        return values(name, *shape, low=functor.low, high=functor.high)

    a, b, row, one = fresh(6, 35), fresh(6, 35), fresh(35), fresh(1)
    if functor.alpha is None:
        out = empty(result, 6, 35)
        run(f"{functor.name}_dense_ilp4_{types}", out, a, b, uint(210), threads=[53])
        checks.append(check(functor, out, a, b))
    for kind, first, second in (
        ("broadcast", a, row), ("broadcast_rhs", row, b), ("scalar", a, one),
        ("scalar_lhs", one, b),
    ):  # fmt: skip
        out = empty(result, 6, 35)
        count = [long(35)] if "broadcast" in kind else []
        run(f"{functor.name}_dense_{kind}_{types}", out, first, second, *count, *more,
            threads=[210])  # fmt: skip
        checks.append(check(functor, out, first, second))
    a, b, out = with_gaps(fresh(*SHAPE)), fresh(*SHAPE), with_gaps(empty(result, *SHAPE))
    run(f"{functor.name}_strided_{types}", out, a, b, *more, sizes_innermost_first(SHAPE),
        innermost_first(out), innermost_first(a), innermost_first(b), uint(len(SHAPE), 0, 0),
        threads=[math.prod(SHAPE)])  # fmt: skip
    return [*checks, check(functor, out, a, b)]


def binary_casts(
    functor: Functor, result: str, name: str, left: str, right: str, run: Runner
) -> list[Check]:
    """The same with inputs of other types, which the kernel converts to `name` first."""
    types = suffix(functor, result, name)
    more = tail(functor, name)
    checks = []

    def fresh(other: str, *shape: int) -> torch.Tensor:
        return values(other, *shape, low=functor.low, high=functor.high)

    def compare(out: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
        checks.append(check(functor, out, a.to(DTYPES[name]), b.to(DTYPES[name])))

    a, b, row, one = fresh(left, 6, 35), fresh(right, 6, 35), fresh(right, 35), fresh(right, 1)
    left_row, left_one = fresh(left, 35), fresh(left, 1)
    kinds = (
        ("", a, b), ("broadcast_", a, row), ("broadcast_rhs_", left_row, b), ("scalar_", a, one),
        ("scalar_lhs_", left_one, b),
    )  # fmt: skip
    for kind, first, second in kinds:
        out = empty(result, 6, 35)
        count = [long(35)] if "broadcast" in kind else []
        described = uint(first.element_size(), second.element_size(), SCALAR_TYPES[first.dtype],
                         SCALAR_TYPES[second.dtype])  # fmt: skip
        run(f"{functor.name}_dense_{kind}cast_{types}", out, first, second, *count, *more,
            described, threads=[210])  # fmt: skip
        compare(out, first, second)
    a, b = with_gaps(fresh(left, *SHAPE)), fresh(right, *SHAPE)
    kernels = [("strided_cast", result)]
    if result == "bool":
        kernels.append(("strided_castout", "float"))
    for kernel, stored in kernels:
        out = with_gaps(empty(stored, *SHAPE))
        described = uint(len(SHAPE), SCALAR_TYPES[a.dtype], SCALAR_TYPES[b.dtype],
                         SCALAR_TYPES[out.dtype])  # fmt: skip
        run(f"{functor.name}_{kernel}_{types}", out, a, b, *more, sizes_innermost_first(SHAPE),
            innermost_first(out), innermost_first(a), innermost_first(b), described,
            threads=[math.prod(SHAPE)])  # fmt: skip
        compare(out, a, b)
    return checks


_WITH_GAPS = (
    "neg", "exp", "abs", "copy_identity", "gelu", "i0", "leaky_relu", "elu", "pow_scalar",
    "clamp_scalar",
)  # fmt: skip
# functor -> the type it reads, the type it writes
_CASTS = {"neg": ("float", "half"), "sqr": ("int", "float"), "copy_identity": ("half", "long"),
          "relu": ("float", "bfloat"), "entr": ("half", "float")}  # fmt: skip
_IN_ALL_SHAPES = ("mul", "lt", "gelu_backward", "add_alpha", "shrink_backward")


def _add_types(number: int, functor: Functor, body: Callable[..., Check | list[Check]]) -> None:
    """The first type and one more, another for each functor; all of them when thorough."""
    one_more = number % len(functor.types)
    for at, (result, name) in enumerate(functor.types):
        title = f"{functor.name} {body.__name__} {name}"
        add(functor.file, title, functools.partial(body, functor, result, name),
            thorough=at not in (0, one_more))  # fmt: skip


for _number, _functor in enumerate((*UNARY, *UNARY_ALPHA)):
    _add_types(_number, _functor, unary_dense)
    if _functor.name in _WITH_GAPS:
        _add_types(_number, _functor, unary_strided)
    if _functor.name in _CASTS and _functor.alpha is None:
        _read, _written = _CASTS[_functor.name]
        add(_functor.file, f"{_functor.name} castout",
            functools.partial(unary_castout, _functor, _written, _read))  # fmt: skip
for _number, _functor in enumerate((*BINARY, *BINARY_ALPHA)):
    _add_types(_number, _functor, binary_dense)
    if _functor.name in _IN_ALL_SHAPES:
        _add_types(_number, _functor, binary_shapes)
        _body = functools.partial(binary_casts, _functor, *_functor.types[0], "half", "int")
        add(_functor.file, f"{_functor.name} casts", _body)


# ---- three inputs


@recipe("TensorCompare")
def clamp(run: Runner) -> list[Check]:
    x, low, high = (
        values("float", DENSE),
        values("half", DENSE, high=0),
        values("int", DENSE, low=0),
    )
    wide = [low.float(), high.float()]
    dense, cast = empty("float", DENSE), empty("float", DENSE)
    run("clamp_dense_float_float", dense, x, *wide, threads=[DENSE])
    run("clamp_dense_cast_float", cast, x, low, high, uint(4, 2, 4), uint(6, 5, 3), threads=[DENSE])
    expected = torch.clamp(x, *wide)
    return [Check(dense, expected), Check(cast, expected)]


@recipe("TensorCompare")
def clamp_strided(run: Runner) -> list[Check]:
    x, low = with_gaps(values("float", *SHAPE)), values("half", *SHAPE, high=0)
    high = with_gaps(values("int", *SHAPE, low=0))
    wide = [low.float(), with_gaps(high.float())]
    expected = torch.clamp(x, *wide)
    checks = []
    for name, bounds, types in (
        ("clamp_strided_float_float", wide, []),
        ("clamp_strided_cast_float", [low, high], [uint(6, 5, 3, 6)]),
    ):
        out = with_gaps(empty("float", *SHAPE))
        run(name, out, x, *bounds, sizes_innermost_first(SHAPE),
            *(innermost_first(tensor) for tensor in (out, x, *bounds)), uint(len(SHAPE)), *types,
            threads=[math.prod(SHAPE)])  # fmt: skip
        checks.append(Check(out, expected))
    return checks


@recipe("BinaryKernel")
def lerp_dense(run: Runner) -> list[Check]:
    start, end, weight = (values("half", DENSE) for _ in range(3))
    out, one = empty("half", DENSE), empty("half", DENSE)
    run("lerp_tensor_dense_half", out, start, end, weight, threads=[DENSE])
    run("lerp_tensor_scalar_weight_half", one, start, end, weight, threads=[DENSE])
    return [
        Check(out, exactly(torch.lerp, start, end, weight).half(), 4e-3),
        Check(one, exactly(torch.lerp, start, end, weight[:1]).half(), 4e-3),
    ]


@recipe("BinaryKernel")
def lerp_strided(run: Runner) -> list[Check]:
    checks = []
    for shape, name in (((5, 7), "_2d"), (SHAPE, "_3d"), ((2, 3, 4, 5), "")):
        tensors = [with_gaps(values("float", *shape)), values("float", *shape),
                   with_gaps(values("float", *shape))]  # fmt: skip
        out = with_gaps(empty("float", *shape))
        strides = [longs(byte_strides(tensor)[::-1]) for tensor in (out, *tensors)]
        sizes = [] if name else [sizes_innermost_first(shape)]
        dims = [] if name else [uint(len(shape))]
        run(f"lerp_tensor_strided{name}_float", out, *tensors, *sizes, *strides, *dims,
            threads=[*shape][::-1] if name else [math.prod(shape)])  # fmt: skip
        checks.append(Check(out, torch.lerp(*tensors)))
    return checks
