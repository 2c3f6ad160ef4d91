"""Operators that compute in a wider dtype give the dtypes and refusals that PyTorch's CPU gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from openmps.mac.widenings import COMMON, SAME, WIDENED

DTYPES = (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.complex32, torch.complex64,
)  # fmt: skip
# Of complex32, which PyTorch calls experimental.
pytestmark = pytest.mark.filterwarnings(
    "ignore:ComplexHalf support:UserWarning", "ignore:MPS mm implementation:UserWarning"
)
NUMBERS: tuple[bool | int | float, ...] = (True, 2, 2.5)
Function = Callable[..., Tensor]

POLYNOMIALS: dict[str, Function] = {
    name: getattr(torch.special, name)
    for name in (
        "zeta", "hermite_polynomial_h", "hermite_polynomial_he", "chebyshev_polynomial_t",
        "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
        "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
        "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w",
    )
}  # fmt: skip
# Of two operands, which may be numbers where PyTorch takes some.
PROMOTING: dict[str, Function] = {
    "remainder": torch.remainder,
    "%": lambda a, b: a % b,
    "fmod": torch.fmod,
    "floor_divide": torch.floor_divide,
    "//": lambda a, b: a // b,
    "div floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "div trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "div": torch.div,
    "pow": torch.pow,
    "clamp_min": torch.clamp_min,
    "clamp_max": torch.clamp_max,
    "clamp": lambda a, b: torch.clamp(a, min=b),
    "logaddexp": torch.logaddexp,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "huber_loss": lambda a, b: torch.ops.aten.huber_loss(a, b, 0),
    "addcdiv": lambda a, b: torch.addcdiv(a, a, b),
    "linalg.cross": lambda a, b: torch.linalg.cross(a, b),
    **POLYNOMIALS,
}
TENSORS_ONLY = ("linalg.cross", "huber_loss")
# Of two tensors that PyTorch wants in one dtype.
UNIFORM: dict[str, Function] = {
    "lerp": lambda a, b: torch.lerp(a, b, 0.5),
    "lerp with a tensor": lambda a, b: torch.lerp(a, a, b),
    "polar": torch.polar,
    "cdist": lambda a, b: torch.cdist(a[None], b[None]),
    "dot": torch.dot,
    "vdot": torch.vdot,
    "mm": lambda a, b: a[None] @ b[:, None],
    "bmm": lambda a, b: torch.bmm(a[None, None], b[None, :, None]),
    "addmm": lambda a, b: torch.addmm(a[:1, None], a[None], b[:, None]),
    "linear": lambda a, b: F.linear(a, b[None]),
    "equal": lambda a, b: torch.tensor(torch.equal(a, b)),
    "grid_sample": lambda a, b: F.grid_sample(
        a.expand(1, 1, 3, 3), b[:2].expand(1, 1, 1, 2), align_corners=True
    ),
    "householder_product": lambda a, b: torch.linalg.householder_product(a[:, None], b[:1]),
}


def vector(dtype: torch.dtype) -> Tensor:
    return torch.tensor([1, 1, 2]).to(dtype)


def outcome(run: Callable[[], Tensor]) -> Tensor | Exception:
    try:
        return run()
    except (RuntimeError, TypeError, ZeroDivisionError) as error:
        return error


def has_no_kernel(error: object) -> bool:
    """Of PyTorch's CPU for that dtype: then a Mac may have one, which computes what is promoted."""
    return isinstance(error, Exception) and "not implemented for" in str(error)


def compare(name: str, function: Function, first: Any, second: Any) -> None:
    def on(device: str) -> tuple[Any, Any]:
        return tuple(  # type: ignore[return-value]
            each.to(device) if isinstance(each, Tensor) else each for each in (first, second)
        )

    cpu = outcome(lambda: function(*on("cpu")))
    mps = outcome(lambda: function(*on("mps")))
    what = f"{name} of {described(first)} and {described(second)}: cpu {cpu!r}, mps {mps!r}"
    if isinstance(cpu, Tensor) and isinstance(mps, Tensor):
        assert mps.dtype == cpu.dtype, what
        if cpu.dtype.is_floating_point or cpu.dtype.is_complex:
            torch.testing.assert_close(mps.cpu(), cpu, rtol=4e-3, atol=1e-5, equal_nan=True)
        else:
            assert torch.equal(mps.cpu(), cpu), what
    elif isinstance(mps, Tensor):
        assert has_no_kernel(cpu), what


def described(operand: Any) -> str:
    if isinstance(operand, Tensor):
        return f"{operand.dtype}{list(operand.shape)}"
    return repr(operand)


@pytest.mark.parametrize("name", PROMOTING)
def test_two_dtypes_give_the_one_that_they_are_promoted_to(name: str) -> None:
    for first, second in itertools.product(DTYPES, DTYPES):
        compare(name, PROMOTING[name], vector(first), vector(second))
        if name != "linalg.cross":
            compare(name, PROMOTING[name], vector(first), vector(second)[0])
            compare(name, PROMOTING[name], vector(first)[0], vector(second))


@pytest.mark.parametrize("name", [name for name in PROMOTING if name not in TENSORS_ONLY])
def test_a_tensor_and_a_number_give_the_dtype_that_they_are_promoted_to(name: str) -> None:
    for dtype, number in itertools.product(DTYPES, NUMBERS):
        compare(name, PROMOTING[name], vector(dtype), number)
        if name not in ("clamp", "clamp_min", "clamp_max"):
            compare(name, PROMOTING[name], number, vector(dtype))


@pytest.mark.parametrize("name", UNIFORM)
def test_what_pytorch_refuses_to_mix_is_refused(name: str) -> None:
    for first, second in itertools.product(DTYPES, DTYPES):
        compare(name, UNIFORM[name], vector(first), vector(second))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int64], ids=str)
def test_clamp_of_bools_is_as_wide_as_its_bounds(dtype: torch.dtype) -> None:
    bools = torch.tensor([True, False], device="mps")
    bounds = torch.tensor([-300, 300], device="mps").to(dtype)
    clamped = torch.clamp(bools, min=bounds)
    assert clamped.dtype == dtype
    assert clamped.tolist() == [1, 300]


def test_operators_in_place_keep_their_dtype_or_refuse() -> None:
    floats = torch.tensor([5.5, -2.5], device="mps")
    assert floats.fmod_(torch.tensor([True, True], device="mps")).tolist() == [0.5, -0.5]
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        torch.tensor([True], device="mps").remainder_(torch.tensor([0.5], device="mps"))


def test_every_operator_that_promotes_is_tried() -> None:
    """A new row of the table needs a line above."""
    tried = {name.split()[0] for name in (*PROMOTING, *UNIFORM)}
    names = {
        token.split(".")[0].strip("_")
        for rule in WIDENED
        if rule.of in (COMMON, SAME)
        for token in rule.operators.split()
    }
    several = {name for name in names if "backward" not in name and name not in ONE_OPERAND}
    renamed = {"cdist_forward": "cdist", "grid_sampler_2d": "grid_sample"}
    assert {renamed.get(name, name.removeprefix("special_")) for name in several} <= tried | {
        "linalg_cross", "linalg_householder_product", "grid_sampler_3d", "logical_not",
        "baddbmm", "addbmm", "addmv", "dirichlet_grad", "sparse_sparse_matmul",
    }  # fmt: skip


ONE_OPERAND = {
    f"special_{name}"
    for name in (
        "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0",
        "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
        "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0", "erfcx",
    )
}  # fmt: skip
