"""Where a Mac's kernels define other numbers than the CPU's kernels give."""

from __future__ import annotations

import math

import pytest
import torch

HALVES = [torch.float16, torch.bfloat16]
on_cpu_engine = pytest.mark.cpu_engine("a GPU's softmax is one kernel, for its speed")


def rounded_log_softmax(x: torch.Tensor, dim: int) -> torch.Tensor:
    below = x - x.amax(dim, keepdim=True)
    total = below.exp().sum(dim, keepdim=True, dtype=torch.float32)
    return below - total.log().to(x.dtype)


@on_cpu_engine
@pytest.mark.parametrize("shape", [(3, 40, 5), (2, 70000), (1, 3, 70000), (7,)])
@pytest.mark.parametrize("dtype", HALVES)
def test_log_softmax_in_half_precision_rounds_each_step_but_sums(dtype, shape) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape).to(dtype)
    gradient = torch.randn(shape).to(dtype)
    for dim in range(len(shape)):
        given = x.to("mps").requires_grad_()
        result = given.log_softmax(dim)
        expected = rounded_log_softmax(x, dim)
        assert torch.equal(result.cpu(), expected)
        result.backward(gradient.to("mps"))
        total = gradient.sum(dim, keepdim=True, dtype=torch.float32)
        expected_gradient = gradient - (expected.exp() * total).to(dtype)
        torch.testing.assert_close(given.grad.cpu(), expected_gradient)


@on_cpu_engine
@pytest.mark.parametrize("dtype", HALVES)
def test_the_gradient_of_softmax_in_half_precision_rounds_each_step_but_sums(dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 40, 5).to(dtype)
    gradient = torch.randn(3, 40, 5).to(dtype)
    for dim in range(3):
        given = x.to("mps").requires_grad_()
        result = given.softmax(dim)
        assert torch.equal(result.cpu(), x.softmax(dim))
        result.backward(gradient.to("mps"))
        output = result.detach().cpu()
        total = (output * gradient).sum(dim, keepdim=True, dtype=torch.float32)
        assert torch.equal(given.grad.cpu(), output * (gradient - total).to(dtype))


@on_cpu_engine
def test_softmax_in_half_precision_takes_any_layout_and_out() -> None:
    x = torch.randn(4, 6, 5).bfloat16()
    on_mps = x.to("mps").transpose(0, 2)
    expected = rounded_log_softmax(x.transpose(0, 2), 1)
    assert torch.equal(on_mps.log_softmax(1).cpu(), expected)
    out = torch.empty(0, dtype=torch.bfloat16, device="mps")
    torch.log_softmax(on_mps, 1, out=out)
    assert torch.equal(out.cpu(), expected)
    assert torch.empty(0, 3, dtype=torch.float16, device="mps").log_softmax(1).shape == (0, 3)
    number = torch.tensor(2.0, dtype=torch.float16, device="mps", requires_grad=True)
    number.log_softmax(0).backward()
    assert number.grad == 0


@on_cpu_engine
def test_the_steps_of_a_softmax_are_no_memory_of_a_macs() -> None:
    x = torch.randn(64, 4096, device="mps", dtype=torch.bfloat16)
    torch.mps.empty_cache()  # a larger buffer would count whole
    before = torch.mps.current_allocated_memory()
    result = x.log_softmax(1)
    assert torch.mps.current_allocated_memory() - before == result.nbytes


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
def test_a_row_of_nothing_but_nans_has_the_median_0(dtype) -> None:
    nan = math.nan
    x = torch.tensor([[nan, nan, nan], [3.0, nan, 1.0]], dtype=dtype, device="mps")
    values, indices = torch.nanmedian(x, 1)
    assert values.tolist() == [0, 1]
    assert indices.tolist() == [0, 2]
    values, indices = torch.nanmedian(x, 0, keepdim=True)
    assert values.tolist() == [[3, 0, 1]]
    assert indices.tolist() == [[1, 0, 1]]
    assert torch.nanmedian(torch.full((), nan, dtype=dtype, device="mps"), 0).values.isnan()
    mask = torch.tensor([False, True], device="mps")[:, None]
    assert torch.masked.median(x, 1, mask=mask).tolist() == [0, 1]


def polar(base: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    return (exponent.to(torch.complex128) * base.to(torch.complex128).log()).exp().to(base.dtype)


BASES = torch.tensor([1 + 1j, -2 + 0.5j, -1 - 3j, 2j], dtype=torch.complex64)
POWERS = torch.tensor([3 + 0j, 1 - 2j, -1.5 + 0.5j, 0.25j], dtype=torch.complex64)


def test_powers_of_complex_numbers_are_computed_in_polar_form() -> None:
    bases, powers = BASES.to("mps"), POWERS.to("mps")
    for result, base, power in (
        (bases**powers, BASES, POWERS),
        (bases ** (1 - 2j), BASES, POWERS[1]),
        (bases**3.3, BASES, torch.tensor(3.3)),
        ((1 + 1j) ** powers, BASES[0], POWERS),
        (bases.clone().pow_(2.7), BASES, torch.tensor(2.7)),
        (bases.clone().pow_(powers), BASES, POWERS),
        (torch.pow(bases, 3.3, out=torch.empty_like(bases)), BASES, torch.tensor(3.3)),
        (bases[:, None] ** powers, BASES[:, None], POWERS),
        (bases**2, BASES, torch.tensor(2.0)),
    ):
        torch.testing.assert_close(result.cpu(), polar(base, power), rtol=1e-5, atol=1e-5)


def test_a_power_of_complex_zero_is_zero_if_it_is_a_number() -> None:
    zero = torch.zeros(1, dtype=torch.complex64, device="mps")
    for power in (-3, 3, -2.5, 1 + 2j):
        assert (zero**power).tolist() == [0]
    assert (zero**0).tolist() == [1]


def test_a_power_of_complex_zero_by_a_tensor_is_not_a_number_before_torch_2_15() -> None:
    zero = torch.zeros(1, dtype=torch.complex64, device="mps")
    version = tuple(map(int, torch.__version__.split(".")[:2]))
    result = torch.view_as_real(zero ** torch.full_like(zero, 3))
    expected = torch.zeros(1, 2) if version >= (2, 15) else torch.full((1, 2), math.nan)
    torch.testing.assert_close(result.cpu(), expected, equal_nan=True)


def test_powers_of_complex_numbers_are_laid_out_like_other_results() -> None:
    x = torch.randn(2, 3, 4, dtype=torch.complex64)
    for base, power in ((x.permute(2, 0, 1), x), (x.permute(2, 0, 1), 3.3), (x[:, ::2], 1j)):
        power = power.permute(2, 0, 1).contiguous() if torch.is_tensor(power) else power
        on_mps = power.to("mps") if torch.is_tensor(power) else power
        result = base.to("mps") ** on_mps
        assert result.stride() == (base**power).stride()


def test_a_power_that_is_complex_does_not_fit_a_real_tensor() -> None:
    real = torch.ones(2, device="mps")
    with pytest.raises(RuntimeError, match="can't be cast"):
        real.pow_(torch.ones(2, dtype=torch.complex64, device="mps"))


def test_logcumsumexp_of_one_complex_number_is_another_tensor() -> None:
    x = torch.ones(1, dtype=torch.complex64, device="mps")
    result = x.logcumsumexp(0)
    assert result.data_ptr() != x.data_ptr()
    assert result.tolist() == [1]


def test_gradients_of_complex_powers_agree() -> None:
    given = [t.clone().to("mps").requires_grad_() for t in (BASES, POWERS)]
    (given[0] ** given[1]).abs().sum().backward()
    expected = [t.clone().requires_grad_() for t in (BASES, POWERS)]
    (expected[0] ** expected[1]).abs().sum().backward()
    for a, b in zip(given, expected, strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["exp", "expm1"])
def test_the_exponential_of_a_number_on_the_real_axis_is_real(name) -> None:
    real = torch.tensor([math.inf, -math.inf, math.nan, 1.5])
    expected = getattr(real, name)()
    x = torch.complex(real, torch.zeros(4)).to("mps")
    for result in (getattr(x, name)(), getattr(x.clone(), name + "_")()):
        torch.testing.assert_close(result.real.cpu(), expected, equal_nan=True)
        assert result.imag.tolist() == [0, 0, 0, 0]


def test_the_angle_of_a_complex_logcumsumexp_goes_on_beyond_pi() -> None:
    x = torch.tensor([1 + 3j, 1.5 + 3.5j, 2 + 4j], dtype=torch.complex64, device="mps")
    result = x.logcumsumexp(0)
    assert result.imag[-1] > math.pi
    torch.testing.assert_close(result.exp().cpu(), x.exp().cumsum(0).cpu(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("start", "end", "step", "dtype"),
    [
        (-8.001, -4.0, 1, torch.uint8),
        (300, 310, 1, torch.int8),
        (5.0, 0.0, -1.0, torch.uint8),
    ],
)
def test_a_range_begins_with_a_number_that_its_dtype_has(start, end, step, dtype) -> None:
    with pytest.raises(RuntimeError, match=r"cannot be converted to type .* without overflow"):
        torch.arange(start, end, step, dtype=dtype, device="mps")


def test_whole_numbers_below_zero_wrap_in_a_range_of_bytes() -> None:
    assert torch.arange(-2, 1, dtype=torch.uint8, device="mps").tolist() == [254, 255, 0]
    assert torch.arange(300, 300, dtype=torch.int8, device="mps").tolist() == []


@pytest.mark.parametrize("dtype", HALVES)
def test_products_of_reflections_are_rounded_after_each_in_half_precision(
    dtype: torch.dtype, engine: str
) -> None:
    torch.manual_seed(0)
    vectors, tau = torch.geqrf(torch.randn(2, 5, 4))
    vectors, tau = vectors.to(dtype), tau.to(dtype)
    expected = torch.eye(5, dtype=dtype).expand(2, 5, 5)
    for i in range(4):
        v = vectors[..., i].clone()
        v[:, :i] = 0
        v[:, i] = 1
        matrix = torch.eye(5, dtype=dtype) - tau[:, i, None, None] * (v[:, :, None] * v[:, None, :])
        sums = torch.zeros_like(matrix)
        for j in range(5):
            sums = torch.addcmul(sums, expected[:, :, j, None], matrix[:, None, j])
        expected = sums if i else matrix
    result = torch.linalg.householder_product(vectors.to("mps"), tau.to("mps"))
    tolerance = 0 if engine == "cpu" else None
    torch.testing.assert_close(
        result.cpu(), expected[..., :4], rtol=tolerance, atol=tolerance, check_stride=False
    )


@pytest.mark.cpu_engine("CUDA's kernel looks for the rounded distance")
@pytest.mark.parametrize("dtype", HALVES)
def test_the_gradient_of_the_largest_distance_knows_it_unrounded(dtype) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(4, 6).to(dtype), torch.randn(3, 6).to(dtype)
    given = [t.to("mps").requires_grad_() for t in (a, b)]
    torch.cdist(*given, p=math.inf).sum().backward()
    expected = [t.float().requires_grad_() for t in (a, b)]
    torch.cdist(*expected, p=math.inf).sum().backward()
    for x, y in zip(given, expected, strict=True):
        torch.testing.assert_close(x.grad.cpu(), y.grad.to(dtype))


def test_a_complex_power_in_place_does_not_grow() -> None:
    base = torch.ones(3, dtype=torch.complex64, device="mps")
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        base.pow_(torch.ones(2, 3, device="mps"))
    assert base.shape == (3,)
