"""Which memory format a result has on a Mac."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.torch_version import TorchVersion

FORMATS = {2: torch.channels_last, 3: torch.channels_last_3d}
CONVOLUTIONS = {2: F.conv2d, 3: F.conv3d}


def made(*shape: int) -> torch.Tensor:
    return torch.arange(float(torch.Size(shape).numel()), device="mps").reshape(shape)


def convolve(dimensions: int, *, input_last: bool, weight_last: bool) -> torch.Tensor:
    layout = FORMATS[dimensions]
    data = made(2, 3, *[5] * dimensions)
    weight = made(4, 3, *[3] * dimensions)
    return CONVOLUTIONS[dimensions](
        data.contiguous(memory_format=layout) if input_last else data,
        weight.contiguous(memory_format=layout) if weight_last else weight,
    )


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize(
    ("input_last", "weight_last"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_a_convolution_is_channels_last_if_one_of_its_inputs_is(
    dimensions: int, input_last: bool, weight_last: bool
) -> None:
    result = convolve(dimensions, input_last=input_last, weight_last=weight_last)
    expected = input_last or weight_last
    assert result.is_contiguous(memory_format=FORMATS[dimensions]) is expected
    assert result.is_contiguous() is not expected
    plain = convolve(dimensions, input_last=False, weight_last=False)
    torch.testing.assert_close(result, plain)


@pytest.mark.cpu_engine("cuDNN adds up in an order of its own for each format")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("bias", [True, False])
def test_gradients_of_a_volumes_weights_have_one_layout_and_the_same_numbers_for_each_format(
    dtype: torch.dtype, bias: bool
) -> None:
    torch.manual_seed(0)
    data = torch.randn(2, 16, 9, 8, 8, device="mps", dtype=dtype)
    module = torch.nn.Conv3d(16, 8, 3, padding=1, bias=bias).to("mps", dtype)
    gradient = torch.randn(2, 8, 9, 8, 8, device="mps", dtype=dtype)
    seen = []
    for layout in (torch.contiguous_format, torch.channels_last_3d):
        given = data.clone(memory_format=layout).requires_grad_()
        module.zero_grad()
        module(given).backward(gradient.contiguous(memory_format=layout))
        assert given.grad.is_contiguous(memory_format=layout)
        assert module.weight.grad.is_contiguous()
        seen.append([parameter.grad for parameter in module.parameters()])
    for plain, last in zip(*seen, strict=True):
        assert torch.equal(plain, last)


def test_the_gradient_of_weights_alone_is_that_of_all() -> None:
    data = made(1, 4, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)
    weight = made(2, 4, 2, 2, 2)
    both = [data.clone().requires_grad_(), weight.clone().requires_grad_()]
    F.conv3d(*both).sum().backward()
    alone = weight.clone().requires_grad_()
    F.conv3d(data, alone).sum().backward()
    assert torch.equal(alone.grad, both[1].grad)
    other = data.clone().requires_grad_()
    F.conv3d(other, weight).sum().backward()
    assert torch.equal(other.grad, both[0].grad)


def test_every_other_channel_of_channels_last_is_not_channels_last() -> None:
    data = made(2, 6, 5, 5).contiguous(memory_format=torch.channels_last)[:, ::2].requires_grad_()
    weight = made(4, 3, 3, 3).requires_grad_()
    result = F.conv2d(data, weight)
    with FakeTensorMode() as mode:
        predicted = F.conv2d(mode.from_tensor(data), mode.from_tensor(weight))
    assert predicted.stride() == result.stride()
    torch.testing.assert_close(result, F.conv2d(data.contiguous(), weight))
    gradients = torch.autograd.grad(result.sum(), (data, weight))
    if TorchVersion(torch.__version__) >= (2, 13):  # older ones went by the order of strides
        assert result.is_contiguous()
        assert all(gradient.is_contiguous() for gradient in gradients)
    on_cpu = [t.detach().cpu().contiguous().requires_grad_() for t in (data, weight)]
    expected = torch.autograd.grad(F.conv2d(*on_cpu).sum(), on_cpu)
    for gradient, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient.cpu(), wanted)


def test_complex_convolutions_are_laid_out_as_predicted() -> None:
    data = made(2, 3, 5, 5).to(torch.complex64)
    weight = made(4, 3, 3, 3).to(torch.complex64).contiguous(memory_format=torch.channels_last)
    with FakeTensorMode() as mode:
        predicted = F.conv2d(mode.from_tensor(data), mode.from_tensor(weight))
    assert F.conv2d(data, weight).stride() == predicted.stride()


@pytest.mark.parametrize("pool", [lambda x: F.max_pool2d(x, 2), lambda x: F.avg_pool2d(x, 2)])
def test_pooling_keeps_channels_last(pool) -> None:
    data = made(2, 3, 4, 4)
    last = pool(data.contiguous(memory_format=torch.channels_last))
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(last, pool(data))


def test_solutions_and_factors_are_laid_out_by_rows() -> None:
    matrix = torch.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    right = torch.arange(6.0).reshape(3, 2)
    assert torch.linalg.solve(matrix, right).stride() == (1, 3)  # the CPU's: by columns
    solution = torch.linalg.solve(matrix.to("mps"), right.to("mps"))
    assert solution.stride() == (2, 1)
    torch.testing.assert_close(solution.cpu(), torch.linalg.solve(matrix, right))
    factors, pivots = torch.linalg.lu_factor(matrix.to("mps"))
    assert factors.stride() == (3, 1)
    expected, expected_pivots = torch.linalg.lu_factor(matrix)
    torch.testing.assert_close(factors.cpu(), expected)
    assert pivots.tolist() == expected_pivots.tolist()


@pytest.mark.cpu_engine("a GPU keeps the layout, for its speed")
@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_constant_padding_lies_in_rows(dimensions: int) -> None:
    data = made(2, 3, *[5] * dimensions).contiguous(memory_format=FORMATS[dimensions])
    padded = F.pad(data, (1, 2), value=3)
    assert padded.is_contiguous()
    assert torch.equal(padded.cpu(), F.pad(data.cpu(), (1, 2), value=3))
