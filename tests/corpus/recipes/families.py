"""Elementwise kernels: 38 definitions that six files instantiate with some hundred functors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from corpus.launching import DTYPES, Runner, byte_strides, float32, int32, long, longs, scalar, uint
from corpus.recipes import Check, add, recipe
from corpus.values import (
    SCALAR_TYPES,
    exactly,
    innermost_first,
    sizes_innermost_first,
    values,
    with_gaps,
)

special = torch.special
aten = torch.ops.aten
Function = Callable[..., torch.Tensor]
SHAPE = (3, 5, 7)
DENSE = 203


@dataclass(frozen=True)
class Functor:
    """alpha: the extra argument as bytes, for a type; types: of results and inputs."""

    file: str
    name: str
    function: Function
    types: tuple[tuple[str, str], ...] = (("float", "float"),)
    low: float = -2.0
    high: float = 2.0
    tolerance: float | None = None
    alpha: Callable[[str], bytes] | None = None
    alpha_type: str = ""  # as the host name spells it; "" for the input's


FLOATS = (("float", "float"), ("half", "half"), ("bfloat", "bfloat"))
INTS = (("long", "long"), ("int", "int"), ("short", "short"), ("char", "char"), ("uchar", "uchar"))
PROMOTED = (("float", "long"), ("float", "int"), ("float", "uchar"))
COMPLEX = (("float2", "float2"),)
HALF_COMPLEX = (("half2", "half2"),)


def _sigmoid(x: torch.Tensor) -> torch.Tensor:
    return 1 / (1 + torch.exp(-x))


def _spherical_j0(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) / x


U = functools.partial(Functor, "UnaryKernel")
S = functools.partial(Functor, "SpecialOps")
A = functools.partial(Functor, "ActivationKernel")
B = functools.partial(Functor, "BinaryKernel")

UNARY = [
    U("neg", torch.neg, (*FLOATS, *INTS, *COMPLEX, *HALF_COMPLEX)),
    U("round", torch.round, (*FLOATS, ("int", "int"))),
    U("sqr", torch.square, (*FLOATS, *INTS, *COMPLEX)),
    U("bitwise_not", torch.bitwise_not, (*INTS, ("bool", "bool"))),
    U("abs", torch.abs, (*FLOATS, *INTS, *COMPLEX)),
    U("angle", torch.angle, (*FLOATS, ("float", "long"), *COMPLEX)),
    U("erf", torch.erf, (*FLOATS, *PROMOTED)),
    U("erfc", torch.erfc, FLOATS),
    U("erfcx", special.erfcx, FLOATS, tolerance=1e-4),
    U("erfinv", torch.erfinv, low=-0.99, high=0.99, tolerance=1e-4),
    U("exp", torch.exp, (*FLOATS, *PROMOTED, *COMPLEX, *HALF_COMPLEX)),
    U("expm1", torch.expm1, (*FLOATS, *COMPLEX)),
    U("sigmoid", _sigmoid, (*FLOATS, *COMPLEX)),
    U("exp2", torch.exp2, (*FLOATS, *COMPLEX)),
    U("log", torch.log, (*FLOATS, *COMPLEX), low=0.01, high=9),
    U("log10", torch.log10, (*FLOATS, *COMPLEX), low=0.01, high=9),
    U("log1p", torch.log1p, (*FLOATS, *COMPLEX), low=-0.9, high=9),
    U("log2", torch.log2, (*FLOATS, *COMPLEX), low=0.01, high=9),
    U("lgamma", torch.lgamma, FLOATS, low=0.1, high=20, tolerance=2e-2),
    U("digamma", torch.digamma, low=0.1, high=20, tolerance=1e-4),
    U("trigamma", lambda x: torch.polygamma(1, x), low=0.1, high=20, tolerance=1e-4),
    U("sinc", torch.sinc, (*FLOATS, *COMPLEX), tolerance=1e-2),
    U("sqrt", torch.sqrt, (*FLOATS, *COMPLEX), low=0.01, high=9),
    U("reciprocal", torch.reciprocal, (*FLOATS, *COMPLEX), low=0.1, high=9),
    U("rsqrt", torch.rsqrt, (*FLOATS, *COMPLEX), low=0.01, high=9, tolerance=1e-2),
    U("sinh", torch.sinh, (*FLOATS, *COMPLEX)),
    U("cosh", torch.cosh, (*FLOATS, *COMPLEX)),
    U("tanh", torch.tanh, (*FLOATS, *COMPLEX)),
    U("sin", torch.sin, (*FLOATS, *COMPLEX)),
    U("cos", torch.cos, (*FLOATS, *COMPLEX)),
    U("tan", torch.tan, (*FLOATS, *COMPLEX), low=-1.2, high=1.2),
    U("asin", torch.asin, (*FLOATS, *COMPLEX), low=-0.99, high=0.99),
    U("acos", torch.acos, (*FLOATS, *COMPLEX), low=-0.99, high=0.99),
    U("atan", torch.atan, (*FLOATS, *COMPLEX)),
    S("bessel_j0_forward", special.bessel_j0, low=-9, high=9, tolerance=1e-4),
    S("bessel_j1_forward", special.bessel_j1, low=-9, high=9, tolerance=1e-4),
    S("modified_bessel_i0_forward", special.modified_bessel_i0, tolerance=1e-4),
    S("modified_bessel_i1_forward", special.modified_bessel_i1, tolerance=1e-4),
    S("modified_bessel_k0_forward", special.modified_bessel_k0, low=0.1, tolerance=1e-4),
    S("modified_bessel_k1_forward", special.modified_bessel_k1, low=0.1, tolerance=1e-4),
    S("scaled_modified_bessel_k0_forward", special.scaled_modified_bessel_k0, low=0.1,
      tolerance=1e-4),
    S("scaled_modified_bessel_k1_forward", special.scaled_modified_bessel_k1, low=0.1,
      tolerance=1e-4),
    S("bessel_y0_forward", special.bessel_y0, low=0.1, high=9, tolerance=1e-4),
    S("bessel_y1_forward", special.bessel_y1, low=0.1, high=9, tolerance=1e-4),
    S("i0", special.i0, (*FLOATS, *PROMOTED), tolerance=1e-2),
    S("i0e", special.i0e, FLOATS, tolerance=1e-2),
    S("i1", special.i1, tolerance=1e-4),
    S("i1e", special.i1e, tolerance=1e-4),
    S("spherical_bessel_j0", _spherical_j0, low=0.1, high=9, tolerance=1e-4),
    S("entr", special.entr, FLOATS, low=0.01),
    A("relu", torch.relu, (*FLOATS, *INTS)),
    A("hardsigmoid", F.hardsigmoid, FLOATS, low=-5, high=5),
    A("hardswish", F.hardswish, FLOATS, low=-5, high=5),
    A("silu", F.silu, FLOATS),
    A("gelu", F.gelu, FLOATS),
    A("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), FLOATS),
    Functor("Copy", "copy_identity", torch.clone,
            (*FLOATS, *INTS, ("bool", "bool"), *COMPLEX, *HALF_COMPLEX)),
    Functor("Copy", "copy_conj", lambda x: torch.conj(x).resolve_conj(),
            (*COMPLEX, *HALF_COMPLEX)),
    Functor("Copy", "copy_neg", torch.neg, (*FLOATS, ("int", "int"))),
    Functor("Copy", "copy_conj_neg", lambda x: -torch.conj(x).resolve_conj(), COMPLEX),
]  # fmt: skip

UNARY_ALPHA = [
    A("hardshrink", lambda x: F.hardshrink(x, 0.5), FLOATS, alpha=lambda t: scalar(0.5, t)),
    A("softshrink", lambda x: F.softshrink(x, 0.5), FLOATS, alpha=lambda t: scalar(0.5, t)),
    A("leaky_relu", lambda x: F.leaky_relu(x, 0.25), FLOATS, alpha=lambda t: scalar(0.25, t)),
    A("elu", lambda x: aten.elu(x, 1.5, 2.0, 0.5), FLOATS,
      alpha=lambda t: scalar(1.5, t) + scalar(2.0, t) + scalar(0.5, t), alpha_type="ELUParams_{}"),
    U("round_decimals", lambda x: torch.round(x, decimals=1), alpha=lambda t: long(1),
      alpha_type="long", tolerance=1e-5),
    U("pow_scalar", lambda x: torch.pow(x, 3), (("int", "int"), ("long", "long")),
      alpha=lambda t: int32(3), alpha_type="int"),
    U("pow_scalar", lambda x: torch.pow(x, 1.5), FLOATS, low=0.01,
      alpha=lambda t: float32(1.5), alpha_type="float"),
    U("pow_scalar", lambda x: torch.pow(x, 2 + 1j), COMPLEX, low=0.1,
      alpha=lambda t: float32(2, 1), alpha_type="float2", tolerance=1e-4),
    U("polygamma", lambda x: torch.polygamma(2, x), low=0.5, high=9, alpha=lambda t: int32(2),
      alpha_type="int", tolerance=1e-4),
    Functor("TensorCompare", "clamp_scalar", lambda x: torch.clamp(x, -1, 1),
            (*FLOATS, ("long", "long")), alpha=lambda t: scalar(-1, t) + scalar(1, t),
            alpha_type="ClampScalarParams_{}"),
    Functor("TensorCompare", "clamp_min_scalar", lambda x: torch.clamp(x, min=-1),
            (*FLOATS, ("int", "int")), alpha=lambda t: scalar(-1, t)),
    Functor("TensorCompare", "clamp_max_scalar", lambda x: torch.clamp(x, max=1),
            (*FLOATS, ("short", "short")), alpha=lambda t: scalar(1, t)),
]  # fmt: skip


def _logical(function: Function) -> Function:
    return lambda a, b: function(a, b)


_ZERO_TO_ONE = {"low": 0.01, "high": 0.99}
COMPARED = tuple(("bool", name) for name in ("float", "half", "bfloat", "long", "int", "uchar"))
BINARY = [
    B("hypot", torch.hypot, FLOATS),
    B("atan2", torch.atan2, FLOATS),
    B("copysign", torch.copysign, FLOATS),
    B("fmax", torch.fmax, FLOATS),
    B("fmin", torch.fmin, FLOATS),
    B("maximum", torch.maximum, (*FLOATS, *INTS, ("bool", "bool"))),
    B("minimum", torch.minimum, (*FLOATS, *INTS)),
    B("zeta", special.zeta, low=1.5, high=9, tolerance=1e-4),
    B("logaddexp", torch.logaddexp, FLOATS),
    B("logaddexp2", torch.logaddexp2, FLOATS),
    B("xlogy", torch.xlogy, FLOATS, low=0.1),
    B("xlog1py", special.xlog1py, FLOATS, low=0.1),
    B("igamma", special.gammainc, low=0.1, high=9, tolerance=1e-4),
    B("igammac", special.gammaincc, low=0.1, high=9, tolerance=1e-4),
    B("add", torch.add, (*FLOATS, *INTS, *COMPLEX, *HALF_COMPLEX)),
    B("mul", torch.mul, (*FLOATS, *INTS, *COMPLEX, *HALF_COMPLEX)),
    B("sub", torch.sub, (*FLOATS, *INTS, *COMPLEX, *HALF_COMPLEX)),
    B("div_floor", lambda a, b: torch.div(a, b, rounding_mode="floor"), (*FLOATS, *INTS),
      low=1, high=40),
    B("div_trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc"), (*FLOATS, *INTS),
      low=1, high=40),
    B("div_true", torch.div, (*FLOATS, *PROMOTED, *COMPLEX), low=1, high=40),
    B("remainder", torch.remainder, (("float", "float"), *INTS), low=1, high=40, tolerance=1e-4),
    B("fmod", torch.fmod, (("float", "float"), *INTS), low=1, high=40, tolerance=1e-4),
    B("gcd", torch.gcd, INTS, high=40),
    B("lcm", torch.lcm, (("long", "long"), ("int", "int")), low=1, high=40),
    B("bitwise_and", torch.bitwise_and, (*INTS, ("bool", "bool")), high=40),
    B("bitwise_or", torch.bitwise_or, INTS, high=40),
    B("bitwise_xor", torch.bitwise_xor, INTS, high=40),
    B("bitwise_left_shift", torch.bitwise_left_shift, INTS, low=0, high=5),
    B("bitwise_right_shift", torch.bitwise_right_shift, INTS, low=0, high=5),
    B("eq", torch.eq, (*COMPARED, ("bool", "float2"))),
    B("ne", torch.ne, COMPARED),
    B("lt", torch.lt, COMPARED),
    B("le", torch.le, COMPARED),
    B("gt", torch.gt, COMPARED),
    B("ge", torch.ge, COMPARED),
    B("polar", torch.polar, (("float2", "float"),)),
    B("make_complex", torch.complex, (("float2", "float"),)),
    A("hardsigmoid_backward", lambda g, x: aten.hardsigmoid_backward(g, x), FLOATS, high=5),
    A("hardswish_backward", lambda g, x: aten.hardswish_backward(g, x), FLOATS, high=5),
    A("silu_backward", lambda g, x: aten.silu_backward(g, x), FLOATS),
    A("gelu_backward", lambda g, x: aten.gelu_backward(g, x), FLOATS),
    A("gelu_tanh_backward", lambda g, x: aten.gelu_backward(g, x, approximate="tanh"), FLOATS),
    *(
        B(name, getattr(special, name), low=0, high=0.9, tolerance=1e-4)
        for kind in ("chebyshev_polynomial_", "shifted_chebyshev_polynomial_")
        for name in (f"{kind}{letter}" for letter in "tuvw")
    ),
    B("hermite_polynomial_h", special.hermite_polynomial_h, low=0, tolerance=1e-4),
    B("hermite_polynomial_he", special.hermite_polynomial_he, low=0, tolerance=1e-4),
]

BINARY_ALPHA = [
    B("add_alpha", lambda a, b: torch.add(a, b, alpha=3), (*FLOATS, *INTS, *COMPLEX),
      alpha=lambda t: scalar(3, t)),
    B("sub_alpha", lambda a, b: torch.sub(a, b, alpha=2), (*FLOATS, *INTS, *COMPLEX),
      alpha=lambda t: scalar(2, t)),
    B("lerp_alpha", lambda a, b: torch.lerp(a, b, 0.25), (*FLOATS, *COMPLEX),
      alpha=lambda t: scalar(0.25, t)),
    A("shrink_backward", lambda g, x: aten.hardshrink_backward(g, x, 0.5), FLOATS,
      alpha=lambda t: scalar(0.5, t)),
    A("leaky_relu_backward", lambda x, g: aten.leaky_relu_backward(g, x, 0.25, False), FLOATS,
      alpha=lambda t: scalar(0.25, t)),
    A("elu_backward", lambda g, x: aten.elu_backward(g, 1.5, 2.0, 0.5, False, x), FLOATS,
      alpha=lambda t: scalar(1.5, t) + scalar(2.0, t) + scalar(0.5, t) + b"\0" * 4,
      alpha_type="ELUBackwardParams_{}"),
]  # fmt: skip


def suffix(functor: Functor, result: str, name: str) -> str:
    if functor.alpha is None:
        return f"{result}_{name}"
    return f"{result}_{name}_" + (functor.alpha_type or "{}").format(name)


def tail(functor: Functor, name: str) -> list[bytes]:
    return [] if functor.alpha is None else [functor.alpha(name)]


def check(functor: Functor, out: torch.Tensor, *inputs: torch.Tensor) -> Check:
    return Check(out, exactly(functor.function, *inputs).to(out.dtype), functor.tolerance)


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
    return [check(functor, out, x), check(functor, again, x), check(functor, room, shaped)]


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


for _functor in (*UNARY, *UNARY_ALPHA):
    for _result, _name in _functor.types:
        add(_functor.file, f"{_functor.name} {_name}",
            functools.partial(unary_dense, _functor, _result, _name))  # fmt: skip
    if _functor.name in ("neg", "exp", "abs", "copy_identity", "gelu", "i0", "leaky_relu", "elu",
                         "pow_scalar", "clamp_scalar"):  # fmt: skip
        for _result, _name in _functor.types:
            add(_functor.file, f"{_functor.name} strided {_name}",
                functools.partial(unary_strided, _functor, _result, _name))  # fmt: skip
    for _name, _cast_to in {"neg": ("float", "half"), "sqr": ("int", "float"),
                            "copy_identity": ("half", "long"), "relu": ("float", "bfloat"),
                            "entr": ("half", "float")}.items():  # fmt: skip
        if _functor.name == _name:
            add(_functor.file, f"{_name} castout",
                functools.partial(unary_castout, _functor, _cast_to[1], _cast_to[0]))  # fmt: skip
for _functor in (*BINARY, *BINARY_ALPHA):
    for _result, _name in _functor.types:
        add(_functor.file, f"{_functor.name} {_name}",
            functools.partial(binary_dense, _functor, _result, _name))  # fmt: skip
    if _functor.name in ("mul", "lt", "gelu_backward", "add_alpha", "shrink_backward"):
        for _result, _name in _functor.types[:3:2]:
            add(_functor.file, f"{_functor.name} shapes {_name}",
                functools.partial(binary_shapes, _functor, _result, _name))  # fmt: skip
        add(_functor.file, f"{_functor.name} casts",
            functools.partial(binary_casts, _functor, *_functor.types[0], "half", "int"))  # fmt: skip


# ---- three inputs


@recipe("TensorCompare")
def clamp(run: Runner) -> list[Check]:
    x, low, high = values("float", DENSE), values("half", DENSE, high=0), values("int", DENSE, low=0)
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
