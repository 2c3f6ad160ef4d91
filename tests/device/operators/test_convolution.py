from __future__ import annotations

import pytest
import torch
from torch import nn

from ..agreement import assert_agrees, assert_matches, assert_module_agrees, on_cuda

MODULES = {
    "conv1d": (lambda: nn.Conv1d(4, 6, 3), (2, 4, 9)),
    "conv2d": (lambda: nn.Conv2d(4, 6, 3), (2, 4, 9, 8)),
    "conv3d": (lambda: nn.Conv3d(4, 6, 2), (2, 4, 5, 4, 3)),
    "transposed1d": (lambda: nn.ConvTranspose1d(4, 6, 3, stride=2), (2, 4, 9)),
    "transposed2d": (
        lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
        (2, 4, 5, 5),
    ),
    "transposed3d": (lambda: nn.ConvTranspose3d(4, 6, 2), (1, 4, 3, 3, 3)),
    "groups": (lambda: nn.Conv2d(4, 8, 3, groups=2), (2, 4, 6, 6)),
    "depthwise": (lambda: nn.Conv2d(4, 4, 3, groups=4, padding=1), (2, 4, 6, 6)),
    "transposed_groups": (lambda: nn.ConvTranspose2d(4, 6, 3, groups=2), (2, 4, 6, 6)),
    "dilation": (lambda: nn.Conv2d(4, 6, 3, dilation=2), (2, 4, 9, 9)),
    "stride": (lambda: nn.Conv2d(4, 6, 3, stride=(2, 1)), (2, 4, 9, 9)),
    "no_bias": (lambda: nn.Conv2d(4, 6, 3, bias=False), (2, 4, 6, 6)),
    "same": (lambda: nn.Conv2d(4, 6, 3, padding="same"), (2, 4, 6, 6)),
    "same_of_even_kernel": (lambda: nn.Conv1d(4, 6, 4, padding="same"), (2, 4, 6)),
    "valid": (lambda: nn.Conv2d(4, 6, 3, padding="valid"), (2, 4, 6, 6)),
    "pointwise": (lambda: nn.Conv2d(4, 6, 1), (2, 4, 6, 6)),
    "unbatched": (lambda: nn.Conv2d(4, 6, 3), (4, 6, 6)),
    "empty_batch": (lambda: nn.Conv2d(4, 6, 3), (0, 4, 6, 6)),
    "unfold": (lambda: nn.Unfold(3, padding=1, stride=2), (2, 4, 6, 6)),
    "fold": (lambda: nn.Fold((6, 6), 3), (2, 36, 16)),
}
PADDINGS = ["zeros", "reflect", "replicate", "circular"]


# Complaints of torch about its own kernels, once per process.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")


@pytest.mark.parametrize("name", MODULES)
def test_module_agrees(name):
    torch.manual_seed(0)
    make, shape = MODULES[name]
    assert_module_agrees(make(), torch.randn(shape, requires_grad=True))


@pytest.mark.parametrize("mode", PADDINGS)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_padding_modes_agree(mode, dimensions):
    torch.manual_seed(0)
    kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dimensions - 1]
    module = kind(2, 3, 3, padding=1, padding_mode=mode)
    assert_module_agrees(module, torch.randn(2, 2, *[5] * dimensions, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_agrees(dtype):
    torch.manual_seed(0)
    module = nn.Conv2d(4, 6, 3, padding=1).to(dtype)
    # The CPU rounds in between; how results relate to float32's is in test_half_precision.py.
    left = {torch.float16: 4e-3, torch.bfloat16: 3e-2}[dtype]
    data = torch.randn(2, 4, 6, 6, dtype=dtype, requires_grad=True)
    assert_module_agrees(module, data, rtol=left, atol=left)


def channels_last(*shape):
    tensor = torch.randn(shape).to(memory_format=torch.channels_last)
    return tensor.requires_grad_()


def test_channels_last_goes_through_a_network():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
    ).to(memory_format=torch.channels_last)
    data = channels_last(2, 3, 8, 8)
    # Before a batch norm, the gradient of a bias is what roundings leave.
    assert_module_agrees(module, data, atol=1e-4 if on_cuda() else 0)
    out = module.to("mps")(data.detach().to("mps"))
    assert out.is_contiguous(memory_format=torch.channels_last)


def test_channels_last_survives_elementwise_operators():
    data = channels_last(2, 3, 4, 5).detach()
    moved = data.to("mps")
    assert moved.is_contiguous(memory_format=torch.channels_last)
    for function in (lambda t: t + 1, torch.relu, lambda t: t * t, torch.empty_like, torch.clone):
        result = function(moved)
        assert result.device.type == "mps"
        assert result.stride() == function(data).stride()


def test_channels_last_conversion():
    data = torch.randn(2, 3, 4, 5)
    moved = data.to("mps").contiguous(memory_format=torch.channels_last)
    assert_matches(moved, data.contiguous(memory_format=torch.channels_last))
    assert_matches(moved.contiguous(), data)


def test_channels_last_3d():
    torch.manual_seed(0)
    module = nn.Conv3d(2, 4, 3).to(memory_format=torch.channels_last_3d)
    data = torch.randn(2, 2, 4, 4, 4).to(memory_format=torch.channels_last_3d).requires_grad_()
    assert_module_agrees(module, data)


def test_convolution_of_the_wrong_shape_raises():
    module = nn.Conv2d(4, 6, 3).to("mps")
    with pytest.raises(RuntimeError, match="to have 4 channels"):
        module(torch.randn(2, 3, 6, 6, device="mps"))
    with pytest.raises(RuntimeError, match="Kernel size can't be greater"):
        module(torch.randn(2, 4, 1, 1, device="mps"))


def test_convolution_of_views():
    torch.manual_seed(0)
    assert_agrees(
        lambda x, w: torch.conv2d(x.transpose(2, 3)[:, ::2], w[:, :2]),
        torch.randn(2, 4, 6, 5, requires_grad=True),
        torch.randn(3, 4, 3, 3, requires_grad=True),
    )


def test_a_frozen_weight_gets_no_gradient():
    module = nn.Conv2d(2, 2, 3).to("mps")
    module.weight.requires_grad_(False)
    data = torch.randn(1, 2, 5, 5, device="mps", requires_grad=True)
    module(data).sum().backward()
    assert module.weight.grad is None
    assert module.bias.grad.device.type == "mps"
    assert data.grad.device.type == "mps"
