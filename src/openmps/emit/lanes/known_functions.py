"""Names and kinds of the functions in lanes.h, and of the libm functions a kernel may call."""

from __future__ import annotations

THREADGROUP_BARRIER = "openmps_threadgroup_barrier"
SIMDGROUP_BARRIER = "openmps_simdgroup_barrier"

_UNIFORM = ("openmps_reduce_", "openmps_ballot", "openmps_active")
_LANE = (
    *_UNIFORM,
    "openmps_lane",
    "openmps_shuffle_",
    "openmps_scan_",
    "openmps_matrix_",
    THREADGROUP_BARRIER,
    SIMDGROUP_BARRIER,
)

# libm functions that LLVM has an intrinsic for, by the name without the float suffix.
INTRINSICS = frozenset(
    [
        "exp",
        "exp2",
        "exp10",
        "log",
        "log2",
        "log10",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "pow",
        "sqrt",
        "fabs",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "nearbyint",
        "round",
        "roundeven",
        "copysign",
        "fma",
    ]
)
RENAMED = {"fmin": "minnum", "fmax": "maxnum"}
# Those -fveclib=libmvec has for x86: they are called in pieces that fit its widths.
VECTOR_LIBRARY = frozenset(["exp", "log", "sin", "cos", "tan", "pow"])
_PURE = INTRINSICS | frozenset(
    [
        "fmin",
        "fmax",
        "fmod",
        "erf",
        "erfc",
        "tgamma",
        "lgamma",
        "cbrt",
        "hypot",
        "expm1",
        "log1p",
        "asinh",
        "acosh",
        "atanh",
        "fdim",
        "remainder",
        "nextafter",
        "ldexp",
        "logb",
        "ilogb",
        "scalbn",
    ]
)


def is_lane_function(name: str) -> bool:
    return name.startswith(_LANE)


def is_uniform(name: str) -> bool:
    """The result is the same in all active lanes whatever they pass."""
    return name.startswith(_UNIFORM)


def base_name(name: str) -> str:
    """expf and exp are both exp."""
    if name in _PURE:
        return name
    return name[:-1] if name.endswith("f") and name[:-1] in _PURE else ""


def is_pure(name: str) -> bool:
    return bool(base_name(name))
