from __future__ import annotations

import pytest
import torch
from torch.torch_version import TorchVersion

from ..agreement import assert_agrees, assert_matches


def numbers(*shape, requires_grad=True):
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=torch.complex64, requires_grad=requires_grad)


@pytest.mark.parametrize(
    "function",
    [
        lambda z: z * z + 1j,
        lambda z: z.abs(),
        lambda z: z.angle(),
        lambda z: z.conj() * 2,
        lambda z: z.exp(),
        lambda z: z.real * z.imag,
        lambda z: torch.view_as_real(z),
        lambda z: z @ z.mH,
        lambda z: z.sum(0),
        lambda z: z / (z + 2),
        lambda z: torch.polar(z.abs(), z.angle()),
        lambda z: torch.complex(z.imag, z.real),
        lambda z: z.sqrt().tanh(),
        lambda z: z.conj().t().contiguous(),
        lambda z: torch.cat([z, z.conj()]),
        lambda z: z.conj().imag,
    ],
)
def test_complex_operators_agree(function):
    assert_agrees(function, numbers(3, 3))


def test_complex_inverses_are_refused():
    with pytest.raises(RuntimeError) as refused:
        torch.linalg.inv(numbers(3, 3).to("mps"))
    assert str(refused.value) == "linalg_inv: not supported for complex types yet!"


def test_complex_numbers_fall_back(fallback):
    with fallback("aten::linalg_matrix_exp"):
        assert_agrees(lambda z: torch.matrix_exp(z * 0.1), numbers(3, 3))


@pytest.mark.parametrize(
    "function",
    [
        torch.fft.fft,
        torch.fft.ifft,
        torch.fft.fft2,
        lambda t: torch.fft.rfft(t.real),
        lambda t: torch.fft.irfft(t),
        lambda t: torch.fft.fftn(t, norm="ortho"),
        lambda t: torch.fft.fftshift(t),
        lambda t: torch.fft.hfft(t),
    ],
)
def test_fourier_transforms_agree(function):
    assert_agrees(function, numbers(4, 8))


def test_short_time_fourier_transform_and_back():
    signal = torch.randn(256, requires_grad=True)

    def there_and_back(s):
        window = torch.hann_window(64, device=s.device)
        spectrum = torch.stft(s, 64, window=window, return_complex=True)
        return torch.istft(spectrum, 64, window=window)

    assert_agrees(there_and_back, signal)


def test_complex_numbers_from_python():
    assert_matches(torch.tensor([1 + 2j], device="mps"), torch.tensor([1 + 2j]))
    assert torch.tensor(3 - 4j, device="mps").item() == 3 - 4j


def test_real_times_complex_promotes():
    assert_agrees(lambda r, z: r * z, torch.arange(3.0), numbers(3))


def test_writing_the_real_part_changes_the_number():
    tensor, expected = numbers(3, requires_grad=False).to("mps"), numbers(3, requires_grad=False)
    for t in (tensor, expected):
        t.real = torch.zeros(3, device=t.device)
        t.imag.add_(1)
        t.conj().mul_(1j)
    assert_matches(tensor, expected)


def test_conjugate_bit_survives_moving_between_devices():
    expected = numbers(3, requires_grad=False)
    assert_matches(expected.conj().to("mps").resolve_conj(), expected.conj().resolve_conj())
    back = expected.to("mps").conj().cpu()
    torch.testing.assert_close(back, expected.conj(), rtol=0, atol=0)


def test_copying_from_a_conjugate():
    source = numbers(3, requires_grad=False)
    target = torch.empty(3, dtype=torch.complex64, device="mps")
    target.copy_(source.to("mps").conj())
    assert_matches(target, source.conj().resolve_conj())
    target.copy_(source.conj())
    assert_matches(target, source.conj().resolve_conj())


def test_complex_module():
    torch.manual_seed(0)
    linear = torch.nn.Linear(3, 2, dtype=torch.complex64)
    data = numbers(4, 3)
    call = torch.nn.functional.linear
    if TorchVersion(torch.__version__) >= "2.12":  # of PyTorch's own, which a Mac uses, too
        assert_agrees(call, data, linear.weight, linear.bias)
        return
    with pytest.raises(RuntimeError) as caught:
        call(data.detach().to("mps"), linear.to("mps").weight)
    assert str(caught.value) == (
        "linear does not support automatic differentiation for outputs with complex dtype."
    )
    with torch.no_grad():
        assert_matches(linear(data.to("mps")), linear.to("cpu")(data))


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex32], ids=str)
def test_a_sum_of_complex_numbers_is_the_sum_of_their_parts(dtype):
    infinity = float("inf")
    left = torch.tensor([complex(infinity, 1), complex(1, infinity), 1j]).to(dtype).to("mps")
    right = torch.tensor([1 + 1j, 2 + 2j, complex(0, -infinity)]).to(dtype).to("mps")
    total = [complex(infinity, 2), complex(3, infinity), complex(0, -infinity)]
    difference = [complex(infinity, 0), complex(-1, infinity), complex(0, infinity)]
    out = torch.empty(0, dtype=dtype, device="mps")
    for got in (
        left + right,
        left.clone().add_(right),
        torch.add(left, right, out=out),
        torch._foreach_add([left], [right])[0],
    ):
        assert got.tolist() == total
    for got in (left - right, left.clone().sub_(right), torch.rsub(right, left)):
        assert got.tolist() == difference


@pytest.mark.parametrize("alpha", [1, 2, 1j])
def test_sums_of_complex_views_agree(alpha):
    data, other = numbers(3, 4, requires_grad=False), numbers(2, 1, 4, requires_grad=False)
    for call in (
        lambda x, y: torch.add(x, y, alpha=alpha),
        lambda x, y: torch.sub(y, x, alpha=alpha),
        lambda x, y: torch.add(x.t().conj(), x.t(), alpha=alpha),
        lambda x, y: y.expand(2, 3, 4).sub(x.conj(), alpha=alpha),
        lambda x, y: x.clone().t().add_(x.t(), alpha=alpha),
        lambda x, y: x.clone().conj().sub_(x, alpha=alpha),
        lambda x, y: torch.add(x, y.real, alpha=alpha),
        lambda x, y: torch.add(x[0, 0], x[0, 1], alpha=alpha),
    ):
        assert_matches(
            call(data.to("mps"), other.to("mps")).resolve_conj(), call(data, other).resolve_conj()
        )


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_small_complex_numbers_are_flipped_bit_by_bit():
    bits = torch.tensor([[0, 0x7C017E00, 0x3555B555], [0x00010002, 0x7BFF, 1]], dtype=torch.int32)
    small = bits.to("mps").view(torch.complex32)
    for dims in ((0,), (-1,), (0, 1), ()):
        assert_matches(small.flip(dims).view(torch.int32), bits.flip(dims))
    assert_matches(small.t().flip(0).contiguous().view(torch.int32), bits.t().flip(0).contiguous())
