"""What PyTorch's elementwise kernels are instantiated with, and what torch calls the same."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from corpus.launching import float32, int32, long, scalar

special = torch.special
aten = torch.ops.aten
Function = Callable[..., torch.Tensor]


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
    B(
        "div_floor",
        lambda a, b: torch.div(a, b, rounding_mode="floor"),
        (*FLOATS, *INTS),
        low=1,
        high=40,
    ),
    B(
        "div_trunc",
        lambda a, b: torch.div(a, b, rounding_mode="trunc"),
        (*FLOATS, *INTS),
        low=1,
        high=40,
    ),
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
