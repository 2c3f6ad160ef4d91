"""The dtype rules of a Mac on the device: the exact errors, and what only a Mac takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

from ..agreement import assert_matches, on_mps

Made = Callable[[], object]


def mps(*values: object, dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(values, device="mps").to(dtype)


def matrix(dtype: torch.dtype) -> torch.Tensor:
    return torch.eye(3, device="mps").to(dtype)


NO_KERNEL = "Failed to create function state object for: "
C64 = torch.complex64
LONG = torch.int64
U16 = torch.uint16


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: mps(1, dtype=U16).sin(), RuntimeError, NO_KERNEL + "sin_dense_castout_ushort"),
        (lambda: mps(1, dtype=U16).sin_(), RuntimeError, NO_KERNEL + "sin_dense_castout_ushort"),
        (
            lambda: mps(1, 2, 3, dtype=U16)[::2].sin(),
            RuntimeError,
            NO_KERNEL + "sin_strided_castout_ushort",
        ),
        (
            lambda: mps(1, dtype=U16) + mps(1, dtype=U16),
            RuntimeError,
            NO_KERNEL + "add_dense_ushort_ushort",
        ),
        (
            lambda: mps(1, dtype=U16) / mps(1, dtype=U16),
            RuntimeError,
            NO_KERNEL + "div_true_dense_float_ushort",
        ),
        (
            lambda: mps(1, dtype=C64) < mps(1, dtype=C64),
            RuntimeError,
            NO_KERNEL + "lt_dense_bool_float2",
        ),
        (
            lambda: torch.softmax(mps(1, dtype=LONG), 0),
            RuntimeError,
            "softmax only supported for floating types",
        ),
        (
            lambda: torch.log_softmax(mps(1, dtype=LONG), 0),
            NotImplementedError,
            "MPS doesn't know how to do exponent_i64",
        ),
        (
            lambda: torch.gcd(mps(True, dtype=torch.bool), mps(True, dtype=torch.bool)),
            NotImplementedError,
            "gcd_mps not implemented for Bool",
        ),
        (
            lambda: torch.nextafter(mps(1, dtype=LONG), mps(2, dtype=LONG)),
            TypeError,
            "nextafter_mps not implemented for non-floating types",
        ),
        (
            lambda: torch.var(mps(1, 2, dtype=LONG)),
            TypeError,
            "std and var only support floating point and complex dtypes",
        ),
        (
            lambda: torch.conv1d(
                mps(1, 2, dtype=LONG).view(1, 1, 2), mps(1, dtype=LONG).view(1, 1, 1)
            ),
            RuntimeError,
            "Convolution is supported only for Floating types",
        ),
        (
            lambda: torch.linalg.lu_factor(matrix(C64)),
            RuntimeError,
            "linalg.lu_factor(): MPS doesn't support complex types.",
        ),
        (
            lambda: torch.linalg.inv(matrix(C64)),
            RuntimeError,
            "linalg_inv: not supported for complex types yet!",
        ),
        pytest.param(
            lambda: torch.linalg.qr(matrix(C64)),
            RuntimeError,
            "linalg_qr: MPS currently supports float32 only",
            marks=pytest.mark.needs_operators("aten::linalg_qr.out"),
        ),
        (lambda: torch.renorm(matrix(C64), 2, 0, 1.0), RuntimeError, NO_KERNEL + "renorm_float2"),
        (
            lambda: torch.bincount(mps(True, dtype=torch.bool)),
            NotImplementedError,
            "bincount is not supported for Bool",
        ),
        (
            lambda: torch.zeros(2, dtype=torch.float8_e4m3fn, device="mps"),
            RuntimeError,
            "Undefined type Float8_e4m3fn",
        ),
        (
            lambda: torch.addmm(matrix(C64), matrix(C64), matrix(C64), alpha=2 + 3j),
            RuntimeError,
            "value cannot be converted to type double without overflow",
        ),
        (
            lambda: mps(1, dtype=LONG).scatter_reduce(
                0, mps(0, dtype=LONG), mps(2, dtype=LONG), "prod"
            ),
            RuntimeError,
            NO_KERNEL + "scatter_prod_dense_long_long",
        ),
    ],
)
def test_refused(run: Made, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        run()
    assert str(raised.value) == text
    assert type(raised.value) is error


def test_nothing_to_compute_needs_no_kernel() -> None:
    assert torch.empty(0, dtype=U16, device="mps").sin().dtype == torch.float32


def test_unlike_dtypes_are_read_through_a_cast() -> None:
    assert (mps(3, dtype=U16) / 2).tolist() == [1.5]


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize(
    ("run", "expected", "dtype"),
    [
        (lambda: mps(True, False, dtype=torch.bool).ceil(), [True, False], torch.bool),
        (lambda: mps(True, False, dtype=torch.bool).relu(), [True, False], torch.bool),
        (lambda: matrix(torch.bool).trace(), 3, LONG),
        (lambda: torch.dot(*[torch.ones(256, device="mps").bool()] * 2), True, torch.bool),
        (lambda: torch.nn.functional.silu(mps(5, dtype=torch.int32)), [4], torch.int32),
        (lambda: mps(1.5, dtype=torch.complex32).reciprocal(), [2 / 3], torch.complex32),
        (lambda: torch.special.bessel_j0(mps(0.0, dtype=torch.half)), [1.0], torch.half),
    ],
)
def test_taken_as_on_a_mac(
    run: Callable[[], torch.Tensor], expected: object, dtype: object
) -> None:
    result = run()
    assert result.dtype == dtype
    assert torch.allclose(
        result.cpu().to(C64), torch.tensor(expected, dtype=C64), rtol=1e-3, atol=1e-3
    )


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_fourier_transforms_of_half_precision_stay_in_it() -> None:
    signal = torch.ones(64, dtype=torch.half, device="mps")
    window = torch.ones(16, dtype=torch.half, device="mps")
    spectrum = torch.stft(signal, 16, window=window, return_complex=True)
    assert spectrum.dtype == torch.complex32
    assert spectrum[0].abs().tolist() == [16.0] * spectrum.size(1)


def test_indices_are_not_widened() -> None:
    image = torch.arange(16.0, device="mps").view(1, 1, 4, 4).requires_grad_()
    pooled, where = torch.nn.functional.max_pool2d(image, 2, return_indices=True)
    torch.nn.functional.max_unpool2d(pooled, where, 2).sum().backward()
    assert image.grad is not None
    assert image.grad.flatten().nonzero().flatten().tolist() == [5, 7, 13, 15]


BIG = torch.tensor([[2**24 + 1, 3], [5, -7]])  # no float32 has the first one's digits
IMAGE = torch.arange(36).reshape(1, 1, 6, 6)
# One engine or the other has no kernel for the dtype: the same results, all the same.
IN_OTHER_WAYS = {
    "mm": (torch.mm, BIG, BIG),
    "mm of int8": (torch.mm, BIG.to(torch.int8), BIG.to(torch.int8)),
    "bmm": (torch.bmm, BIG[None], BIG[None]),
    "addmm": (torch.addmm, BIG, BIG, BIG),
    "baddbmm": (torch.baddbmm, BIG[None], BIG[None], BIG[None]),
    "addbmm": (torch.addbmm, BIG, BIG[None], BIG[None]),
    "mv": (torch.mv, BIG, BIG[0]),
    "dot": (torch.dot, BIG[0], BIG[1]),
    "max_pool2d": (lambda t: F.max_pool2d(t, 2), IMAGE),
    "max_pool2d with indices": (lambda t: F.max_pool2d(t, 2, return_indices=True), IMAGE.int()),
    "max_pool3d": (lambda t: F.max_pool3d(t, (1, 2, 2)), IMAGE[None].int()),
    "avg_pool2d": (lambda t: F.avg_pool2d(t, 2), IMAGE),
    "upsample_bilinear2d": (
        lambda t: F.interpolate(t, scale_factor=2, mode="bilinear"),
        IMAGE.to(torch.uint8),
    ),
    "igamma": (torch.igamma, IMAGE.half() + 1, IMAGE.half() + 1),
    "angle": (torch.angle, IMAGE.bfloat16() - 3),
    "histc": (lambda t: torch.histc(t, 4), IMAGE.half()),
    "scatter_reduce": (
        lambda index, source: source[:2].scatter_reduce(0, index, source, "amax"),
        torch.tensor([0, 1, 1]),
        torch.tensor([True, False, True]),
    ),
}


@pytest.mark.parametrize("name", IN_OTHER_WAYS)
def test_taken_whatever_the_backing_device_has(name: str) -> None:
    function, *arguments = IN_OTHER_WAYS[name]
    assert_matches(function(*on_mps(arguments)), function(*arguments))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_histc_counts_beyond_what_its_dtype_can_count_to(dtype: torch.dtype) -> None:
    values = torch.full((4096,), 0.5, dtype=dtype, device="mps")
    counts = torch.histc(values, bins=1, min=0, max=1)
    assert counts.dtype == dtype
    assert counts.item() == 4096
