from __future__ import annotations

import pytest
import torch
from torch import nn

from ..agreement import assert_agrees, assert_matches, assert_module_agrees, on_cuda

POOLING = {
    "max1d": (lambda: nn.MaxPool1d(3, 2), (2, 3, 10)),
    "max2d": (lambda: nn.MaxPool2d(3, 2, padding=1), (2, 3, 10, 9)),
    "max2d_ceil_dilated": (lambda: nn.MaxPool2d(2, dilation=2, ceil_mode=True), (2, 3, 9, 9)),
    "max2d_indices": (lambda: nn.MaxPool2d(2, return_indices=True), (2, 3, 6, 6)),
    "max3d": (lambda: nn.MaxPool3d(2), (2, 3, 4, 4, 4)),
    "average1d": (lambda: nn.AvgPool1d(3, 2, padding=1), (2, 3, 10)),
    "average2d": (lambda: nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), (2, 3, 9, 9)),
    "average3d": (lambda: nn.AvgPool3d(2), (2, 3, 4, 4, 4)),
    "adaptive_average1d": (lambda: nn.AdaptiveAvgPool1d(5), (2, 3, 10)),
    "adaptive_average2d": (lambda: nn.AdaptiveAvgPool2d((5, None)), (2, 3, 10, 9)),
    "adaptive_average2d_grows": (lambda: nn.AdaptiveAvgPool2d((6, 9)), (2, 3, 3, 3)),
    "adaptive_average2d_to_one": (lambda: nn.AdaptiveAvgPool2d(1), (2, 3, 10, 9)),
    "adaptive_max1d": (lambda: nn.AdaptiveMaxPool1d(4), (2, 3, 10)),
    "adaptive_max2d": (lambda: nn.AdaptiveMaxPool2d(3), (2, 3, 10, 9)),
    "power1d": (lambda: nn.LPPool1d(2, 3), (2, 3, 10)),
    "power2d": (lambda: nn.LPPool2d(2, 2), (2, 3, 6, 6)),
    "power3d": (lambda: nn.LPPool3d(2, 2), (2, 3, 4, 4, 4)),
}
POOLING_ON_THE_CPU = {
    "adaptive_average3d": (
        lambda: nn.AdaptiveAvgPool3d(2),
        ("aten::_adaptive_avg_pool3d", "aten::_adaptive_avg_pool3d_backward"),
    ),
    "adaptive_max3d": (
        lambda: nn.AdaptiveMaxPool3d(2),
        ("aten::adaptive_max_pool3d.out", "aten::adaptive_max_pool3d_backward.grad_input"),
    ),
}
NORMS = {
    "batch1d": (lambda: nn.BatchNorm1d(4), (5, 4)),
    "batch1d_sequence": (lambda: nn.BatchNorm1d(4), (5, 4, 6)),
    "batch2d": (lambda: nn.BatchNorm2d(4), (3, 4, 5, 6)),
    "batch3d": (lambda: nn.BatchNorm3d(4), (3, 4, 2, 3, 4)),
    "batch_without_statistics": (
        lambda: nn.BatchNorm2d(4, track_running_stats=False),
        (3, 4, 5, 6),
    ),
    "batch_without_affine": (lambda: nn.BatchNorm2d(4, affine=False), (3, 4, 5, 6)),
    "batch_cumulative": (lambda: nn.BatchNorm2d(4, momentum=None), (3, 4, 5, 6)),
    "instance1d": (lambda: nn.InstanceNorm1d(4, affine=True), (3, 4, 6)),
    "instance2d": (lambda: nn.InstanceNorm2d(4, track_running_stats=True), (3, 4, 5, 6)),
    "instance3d": (lambda: nn.InstanceNorm3d(4), (3, 4, 2, 3, 4)),
    "layer": (lambda: nn.LayerNorm(6), (3, 4, 6)),
    "layer_of_two": (lambda: nn.LayerNorm((4, 6), bias=False), (3, 4, 6)),
    "group": (lambda: nn.GroupNorm(2, 4), (3, 4, 5, 6)),
    "root_mean_square": (lambda: nn.RMSNorm(6), (3, 4, 6)),
    "local_response": (lambda: nn.LocalResponseNorm(2), (3, 4, 5, 6)),
    "cross_channel": (lambda: nn.CrossMapLRN2d(2), (3, 4, 5, 6)),
}
ACTIVATIONS = {
    name: getattr(nn, name)
    for name in (
        "ELU", "Hardshrink", "Hardsigmoid", "Hardtanh", "Hardswish", "LeakyReLU", "LogSigmoid",
        "PReLU", "ReLU", "ReLU6", "SELU", "CELU", "GELU", "Sigmoid", "SiLU", "Mish", "Softplus",
        "Softshrink", "Softsign", "Tanh", "Tanhshrink",
    )
}  # fmt: skip
ACTIVATIONS |= {
    "GLU": nn.GLU,
    "GELU_tanh": lambda: nn.GELU("tanh"),
    "Threshold": lambda: nn.Threshold(0.1, 20),
    "Softmin": lambda: nn.Softmin(1),
    "Softmax": lambda: nn.Softmax(1),
    "Softmax2d": nn.Softmax2d,
    "LogSoftmax": lambda: nn.LogSoftmax(1),
    "PReLU_per_channel": lambda: nn.PReLU(4),
}
IN_PLACE = ["ELU", "Hardsigmoid", "Hardtanh", "Hardswish", "LeakyReLU", "ReLU", "ReLU6", "SELU",
            "CELU", "SiLU", "Mish"]  # fmt: skip


@pytest.mark.parametrize("name", POOLING)
def test_pooling_agrees(name):
    torch.manual_seed(0)
    make, shape = POOLING[name]
    assert_module_agrees(make(), torch.randn(shape, requires_grad=True))


@pytest.mark.parametrize("name", POOLING_ON_THE_CPU)
def test_pooling_that_a_mac_lacks_agrees_through_the_fallback(name, fallback):
    torch.manual_seed(0)
    make, operators = POOLING_ON_THE_CPU[name]
    with fallback(*operators):
        assert_module_agrees(make(), torch.randn(2, 3, 5, 5, 5, requires_grad=True))


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_unpooling_agrees(dimensions):
    torch.manual_seed(0)
    pool = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)[dimensions - 1](2, return_indices=True)
    unpool = (nn.MaxUnpool1d, nn.MaxUnpool2d, nn.MaxUnpool3d)[dimensions - 1](2)
    data = torch.randn(2, 3, *[4] * dimensions, requires_grad=True)
    assert_agrees(lambda x: unpool(*pool(x)), data)


def test_fractional_pooling_is_reproducible(fallback):
    samples = torch.rand(2, 3, 2)
    module = nn.FractionalMaxPool2d(2, output_size=3, _random_samples=samples)
    expected = module(torch.arange(2 * 3 * 49.0).view(2, 3, 7, 7))
    module._random_samples = samples.to("mps")
    with fallback("aten::fractional_max_pool2d.output"):
        result = module(torch.arange(2 * 3 * 49.0, device="mps").view(2, 3, 7, 7))
    assert_matches(result, expected)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NORMS)
def test_normalisation_agrees(name, training):
    torch.manual_seed(0)
    make, shape = NORMS[name]
    module = make()
    module.train()
    module(torch.randn(shape) * 3 + 1)  # so that running statistics are no longer 0 and 1
    module.train(training)
    assert_module_agrees(module, torch.randn(shape, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm_without_gradients_agrees(affine, dtype):
    torch.manual_seed(0)
    module = nn.LayerNorm([4, 6], elementwise_affine=affine, dtype=dtype)
    data = torch.randn(3, 5, 4, 6, dtype=dtype)
    with torch.no_grad():
        assert_module_agrees(module, data)
        assert_module_agrees(module, data.transpose(0, 1))
        assert_module_agrees(module, data[:0])
    with torch.inference_mode():
        assert_module_agrees(module, data)


def test_layer_norm_without_gradients_keeps_forward_derivatives():
    torch.manual_seed(0)
    weight, data, direction = torch.randn(6), torch.randn(4, 6), torch.randn(4, 6)

    def derivative(device):
        along = direction.to(device)
        norm = lambda t: nn.functional.layer_norm(t, (6,), weight.to(device))  # noqa: E731
        return torch.func.jvp(norm, (data.to(device),), (along,))

    with torch.no_grad(), torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(data.to("mps"), direction.to("mps"))
        normed = nn.functional.layer_norm(dual, (6,), weight.to("mps"))
        tangent = torch.autograd.forward_ad.unpack_dual(normed).tangent
    assert_matches(tangent, derivative("cpu")[1], rtol=1e-5, atol=1e-5)
    assert_matches(derivative("mps"), derivative("cpu"), rtol=1e-5, atol=1e-5)


def test_layer_norm_of_another_shape_raises_without_gradients():
    with torch.no_grad(), pytest.raises(RuntimeError, match=r"expected input with shape \[\*, 5\]"):
        nn.functional.layer_norm(torch.ones(2, 4, device="mps"), (5,))


def test_batch_norm_of_one_value_per_channel_raises():
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        nn.BatchNorm1d(3).to("mps")(torch.ones(1, 3, device="mps"))


def test_synchronised_batch_norm_needs_no_group_in_eval():
    torch.manual_seed(0)
    module = nn.SyncBatchNorm(3).eval()
    expected = module(torch.arange(6.0).view(2, 3))
    assert_matches(module.to("mps")(torch.arange(6.0, device="mps").view(2, 3)), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["layer", "batch2d", "group", "root_mean_square"])
def test_normalisation_of_half_precision_agrees(name, dtype):
    torch.manual_seed(0)
    make, shape = NORMS[name]
    # Of a sum of squares of normalised values, the gradient is what roundings leave.
    left = {torch.float16: 0.02, torch.bfloat16: 0.2}[dtype] if on_cuda() else 0
    if name == "group" and not on_cuda():  # computed in float32: what is left is another rest
        left = 2e-5 if dtype == torch.float16 else 2e-4
    data = torch.randn(shape, dtype=dtype, requires_grad=True)
    assert_module_agrees(make().to(dtype), data, atol=left)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_agrees(name):
    torch.manual_seed(0)
    assert_module_agrees(ACTIVATIONS[name](), torch.randn(2, 4, 6, 6, requires_grad=True))


def test_randomised_relu_agrees_through_the_fallback(fallback):
    torch.manual_seed(0)
    with fallback("aten::rrelu_with_noise"):
        assert_module_agrees(nn.RReLU().eval(), torch.randn(2, 4, 6, 6, requires_grad=True))


@pytest.mark.parametrize("name", IN_PLACE)
def test_activation_in_place_agrees(name):
    torch.manual_seed(0)
    module = ACTIVATIONS[name](inplace=True)
    assert_agrees(lambda x: module(x * 2), torch.randn(4, 5, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["GELU", "SiLU", "Sigmoid", "Hardswish"])
def test_activation_of_half_precision_agrees(name, dtype):
    torch.manual_seed(0)
    assert_module_agrees(ACTIVATIONS[name](), torch.randn(2, 4, 6, dtype=dtype, requires_grad=True))


# A Mac rounds each step: tests/mac/test_numbers.py.
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax"])
def test_softmax_of_half_precision_agrees_to_a_few_roundings(name, dtype):
    torch.manual_seed(0)
    data = torch.randn(2, 4, 6, dtype=dtype, requires_grad=True)
    few = 4 * torch.finfo(dtype).eps  # of sums that are larger than the gradients
    assert_module_agrees(ACTIVATIONS[name](), data, rtol=few, atol=4 * few)


def test_linear_layers_agree():
    torch.manual_seed(0)
    assert_module_agrees(nn.Linear(4, 3), torch.randn(2, 5, 4, requires_grad=True))
    assert_module_agrees(nn.Linear(4, 3, bias=False), torch.randn(4, requires_grad=True))
    assert_module_agrees(nn.Linear(4, 3), torch.randn(0, 4, requires_grad=True))
    assert_module_agrees(
        nn.Bilinear(4, 3, 2), torch.randn(5, 4, requires_grad=True), torch.randn(5, 3)
    )
    assert_module_agrees(nn.Identity(), torch.randn(3, requires_grad=True))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"padding_idx": 1},
        {"scale_grad_by_freq": True},
    ],
)
def test_embedding_agrees(options):
    torch.manual_seed(0)
    assert_module_agrees(nn.Embedding(6, 3, **options), torch.tensor([[0, 1, 5], [5, 5, 2]]))


def test_embedding_with_a_largest_norm_agrees(fallback):
    torch.manual_seed(0)
    with fallback("aten::embedding_renorm_"):
        assert_module_agrees(nn.Embedding(6, 3, max_norm=0.5), torch.tensor([[0, 1], [5, 5]]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"include_last_offset": True}])
def test_embedding_bag_agrees(mode, options):
    torch.manual_seed(0)
    bag = nn.EmbeddingBag(6, 3, mode=mode, **options)
    assert_module_agrees(bag, torch.tensor([0, 1, 5, 5, 2]), torch.tensor([0, 2, 5]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_of_a_matrix_agrees(mode):
    torch.manual_seed(0)
    bag = nn.EmbeddingBag(6, 3, mode=mode)
    assert_module_agrees(bag, torch.tensor([[0, 1, 5], [5, 5, 2]]))


def test_embedding_bag_with_weights_agrees():
    torch.manual_seed(0)
    assert_agrees(
        lambda w, i, s: nn.functional.embedding_bag(i, w, mode="sum", per_sample_weights=s),
        torch.randn(6, 3, requires_grad=True),
        torch.tensor([[0, 1, 5], [5, 5, 2]]),
        torch.rand(2, 3, requires_grad=True),
    )


def test_embedding_out_of_range_goes_unnoticed():
    embedding = nn.Embedding(4, 2).to("mps")
    assert embedding(torch.tensor([7], device="mps")).shape == (1, 2)
    torch.mps.synchronize()


@pytest.mark.parametrize(
    ("mode", "shape"),
    [
        ("nearest", (2, 3, 5)),
        ("nearest", (2, 3, 5, 6)),
        ("nearest", (2, 3, 3, 4, 5)),
        ("nearest-exact", (2, 3, 5, 6)),
        ("linear", (2, 3, 5)),
        ("bilinear", (2, 3, 5, 6)),
        ("bicubic", (2, 3, 5, 6)),
        ("trilinear", (2, 3, 3, 4, 5)),
    ],
)
def test_interpolation_agrees(mode, shape):
    torch.manual_seed(0)
    data = torch.randn(shape, requires_grad=True)
    assert_agrees(lambda x: nn.functional.interpolate(x, scale_factor=2.0, mode=mode), data)
    assert_agrees(
        lambda x: nn.functional.interpolate(x, size=(4,) * (len(shape) - 2), mode=mode), data
    )
    if "linear" in mode or mode == "bicubic":
        assert_agrees(
            lambda x: nn.functional.interpolate(
                x, scale_factor=1.5, mode=mode, align_corners=True, recompute_scale_factor=True
            ),
            data,
        )


def test_interpolation_by_area_agrees_where_sizes_divide():
    data = torch.randn(2, 3, 6, 6, requires_grad=True)
    assert_agrees(lambda x: nn.functional.interpolate(x, scale_factor=2.0, mode="area"), data)
    assert_agrees(lambda x: nn.functional.interpolate(x, size=(3, 2), mode="area"), data)


def antialiased(image, mode):
    return nn.functional.interpolate(image, size=(4, 4), mode=mode, antialias=True)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiased_interpolation_agrees(mode):
    assert_agrees(lambda x: antialiased(x, mode), torch.randn(2, 3, 9, 9))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_gradients_of_antialiased_interpolation_agree_through_the_fallback(mode, fallback):
    with fallback(f"aten::_upsample_{mode}2d_aa_backward.grad_input"):
        assert_agrees(lambda x: antialiased(x, mode), torch.randn(2, 3, 9, 9, requires_grad=True))


def test_upsampling_modules_agree():
    for module in (nn.Upsample(scale_factor=2), nn.UpsamplingNearest2d(size=(7, 7)),
                   nn.UpsamplingBilinear2d(scale_factor=2)):  # fmt: skip
        assert_module_agrees(module, torch.randn(2, 3, 4, 5, requires_grad=True))


@pytest.mark.needs_operators("aten::grid_sampler_2d_backward")
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sampling_agrees(mode, padding):
    torch.manual_seed(0)
    assert_agrees(
        lambda x, g: nn.functional.grid_sample(x, g, mode, padding, align_corners=False),
        torch.randn(2, 3, 5, 6, requires_grad=True),
        (torch.rand(2, 4, 4, 2) * 2.4 - 1.2).requires_grad_(),
    )


def test_affine_grids_agree():
    torch.manual_seed(0)
    assert_agrees(
        lambda t: nn.functional.affine_grid(t, (2, 3, 4, 5), align_corners=False),
        torch.randn(2, 2, 3, requires_grad=True),
    )


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_padding_agrees(mode, dimensions):
    torch.manual_seed(0)
    data = torch.randn(2, 3, *[4] * dimensions, requires_grad=True)
    assert_agrees(lambda x: nn.functional.pad(x, (1, 2) * dimensions, mode=mode), data)


def test_padding_modules_agree():
    for module in (nn.ZeroPad2d(1), nn.ConstantPad2d((1, 0, 2, 0), 3.5), nn.ReflectionPad2d(2),
                   nn.ReplicationPad2d(1), nn.CircularPad2d(1), nn.ZeroPad2d(-1)):  # fmt: skip
        assert_module_agrees(module, torch.randn(2, 3, 4, 5, requires_grad=True))


def test_shuffling_modules_agree(fallback):
    torch.manual_seed(0)
    assert_module_agrees(nn.PixelShuffle(2), torch.randn(2, 8, 3, 4, requires_grad=True))
    assert_module_agrees(nn.PixelUnshuffle(2), torch.randn(2, 2, 6, 4, requires_grad=True))
    assert_module_agrees(nn.Flatten(), torch.randn(2, 3, 4, requires_grad=True))
    assert_module_agrees(nn.Unflatten(1, (2, 2)), torch.randn(2, 4, requires_grad=True))
    with fallback("aten::channel_shuffle"):
        assert_agrees(nn.ChannelShuffle(2), torch.randn(2, 8, 3, 4))


def points():
    return [torch.randn(4, 3, requires_grad=True) for _ in range(2)]


def test_distances_of_pairs_agree():
    torch.manual_seed(0)
    assert_module_agrees(nn.CosineSimilarity(), *points())
    assert_module_agrees(nn.PairwiseDistance(), *points())


@pytest.mark.needs_operators("aten::_cdist_backward")
def test_distances_of_all_pairs_agree():
    torch.manual_seed(0)
    assert_agrees(torch.cdist, *points())


def test_parametrised_modules_agree():
    torch.manual_seed(0)
    weight = torch.nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
    spectral = torch.nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)).eval()
    for module in (weight, spectral):
        data = torch.randn(2, 3)
        expected = module(data).detach()
        moved = module.to("mps")
        assert_matches(moved(data.to("mps")).detach(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_the_gradient_of_logit_is_a_macs(dtype):
    """Outside of [0, 1] the CPU's is not a number, and at minus zero it is positive."""
    infinity = float("inf")
    values = torch.tensor([-0.0, 0.0, 0.5, 1.0, 1.5, -1.5, 2.5], dtype=dtype, device="mps")
    values.requires_grad_()
    torch.logit(values).sum().backward()
    expected = torch.tensor([-infinity, infinity, 4, infinity, -4 / 3, 0, 0]).to(dtype)
    torch.testing.assert_close(values.grad.cpu(), expected)
    values.grad = None
    torch.logit(values, eps=0.3).sum().backward()
    assert values.grad.tolist() == [0, 0, 4, 0, 0, 0, 0]
    out = torch.empty(0, dtype=dtype, device="mps")
    torch.ops.aten.logit_backward.grad_input(
        torch.ones_like(values), values.detach(), 0.3, grad_input=out
    )
    assert out.tolist() == [0, 0, 4, 0, 0, 0, 0]
