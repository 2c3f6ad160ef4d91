"""Large arguments for the operators whose samples in PyTorch's database have fixed sizes.

A recipe gets a factor, of the first dimension as a rule, and gives (arguments, keyword arguments).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Recipe = Callable[[int], Arguments]


def t(*shape: int) -> torch.Tensor:
    return torch.rand(*shape) + 0.1


def still(*shape: int) -> torch.Tensor:
    """Of an argument without a gradient."""
    tensor = t(*shape)
    tensor.still = True  # type: ignore[attr-defined]
    return tensor


def ids(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(high, shape)


def with_(*arguments: Any, **keywords: Any) -> Arguments:
    return arguments, keywords


def _spd(n: int, side: int = 16) -> torch.Tensor:
    return torch.eye(side) * side + torch.ones(n, side, side)


def _pairs(n: int) -> Arguments:
    return with_(t(n, 64), t(n, 64))


def _image(*shape: int) -> Recipe:
    return lambda n: with_(t(n, *shape))


def _attention(n: int) -> Arguments:
    return with_(t(n, 4, 64, 32), t(n, 4, 64, 32), t(n, 4, 64, 32))


def _pool(dimensions: int, **keywords: Any) -> Recipe:
    side = {1: 1024, 2: 32, 3: 16}[dimensions]
    return lambda n: with_(t(n, 16, *[side] * dimensions), **{"kernel_size": 2, **keywords})


def _adaptive(dimensions: int) -> Recipe:
    side = {1: 1024, 2: 32, 3: 16}[dimensions]
    return lambda n: with_(t(n, 16, *[side] * dimensions), (4,) * dimensions)


def _convolution(dimensions: int, transposed: bool = False) -> Recipe:
    side = {1: 256, 2: 16, 3: 8}[dimensions]
    channels = (16, 32) if transposed else (32, 16)
    return lambda n: with_(
        t(n, 16, *[side] * dimensions), t(*channels, *[3] * dimensions), t(32), padding=1
    )


def _upsample(mode: str, dimensions: int) -> Recipe:
    side = {1: 256, 2: 16, 3: 8}[dimensions]
    return lambda n: with_(t(n, 8, *[side] * dimensions), scale_factor=2.0, mode=mode)


RECIPES: dict[str, Recipe] = {
    "matmul": lambda n: with_(t(16 * n, 64), t(64, 64)),
    "__rmatmul__": lambda n: with_(t(64, 64), t(16 * n, 64)),
    "mm": lambda n: with_(t(16 * n, 64), t(64, 64)),
    "bmm": lambda n: with_(t(n, 32, 32), t(n, 32, 32)),
    "baddbmm": lambda n: with_(t(n, 32, 32), t(n, 32, 32), t(n, 32, 32)),
    "addmm": lambda n: with_(t(16 * n, 64), t(16 * n, 64), t(64, 64)),
    "addbmm": lambda n: with_(t(32, 32), t(n, 32, 32), t(n, 32, 32)),
    "addmv": lambda n: with_(t(64 * n), t(64 * n, 64), t(64)),
    "mv": lambda n: with_(t(64 * n, 64), t(64)),
    "nn.functional.linear": lambda n: with_(t(16 * n, 64), t(64, 64), t(64)),
    "nn.functional.bilinear": lambda n: with_(t(n, 16), t(n, 16), t(8, 16, 16), t(8)),
    "einsum": lambda n: with_([t(n, 32, 32), t(n, 32, 32)], "bij,bjk->bik"),
    "linalg.multi_dot": lambda n: with_([t(16 * n, 64), t(64, 64), t(64, 16)]),
    "nn.functional.conv1d": _convolution(1),
    "nn.functional.conv2d": _convolution(2),
    "nn.functional.conv3d": _convolution(3),
    "nn.functional.conv_transpose1d": _convolution(1, transposed=True),
    "nn.functional.conv_transpose2d": _convolution(2, transposed=True),
    "nn.functional.conv_transpose3d": _convolution(3, transposed=True),
    "nn.functional.max_pool1d": _pool(1),
    "nn.functional.max_pool2d": _pool(2),
    "nn.functional.max_pool3d": _pool(3),
    "nn.functional.avg_pool1d": _pool(1),
    "nn.functional.avg_pool2d": _pool(2),
    "nn.functional.avg_pool3d": _pool(3),
    "max_pool2d_with_indices_backward": lambda n: with_(t(n, 16, 32, 32), kernel_size=2),
    "nn.functional.adaptive_avg_pool1d": _adaptive(1),
    "nn.functional.adaptive_avg_pool2d": _adaptive(2),
    "nn.functional.adaptive_max_pool1d": _adaptive(1),
    "nn.functional.adaptive_max_pool2d": _adaptive(2),
    "nn.functional.max_unpool2d": lambda n: with_(
        t(n, 8, 16, 16), torch.arange(0, 1024, 4).view(16, 16).expand(n, 8, 16, 16).clone(), 2
    ),
    "nn.functional.batch_norm": lambda n: with_(
        t(n, 32, 16, 16), still(32), still(32), t(32), t(32), True
    ),
    "nn.functional.instance_norm": lambda n: with_(t(n, 8, 32, 32)),
    "nn.functional.group_norm": lambda n: with_(t(n, 32, 16, 16), 8, t(32), t(32)),
    "nn.functional.layer_norm": lambda n: with_(t(n, 256), (256,), t(256), t(256)),
    "nn.functional.rms_norm": lambda n: with_(t(n, 256), (256,), t(256)),
    "nn.functional.local_response_norm": lambda n: with_(t(n, 16, 16, 16), 3),
    "nn.functional.normalize": lambda n: with_(t(n, 256)),
    "native_batch_norm": lambda n: with_(
        t(n, 32, 16, 16), t(32), t(32), still(32), still(32), True, 0.1, 1e-5
    ),
    "_native_batch_norm_legit": lambda n: with_(
        t(n, 32, 16, 16), t(32), t(32), still(32), still(32), True, 0.1, 1e-5
    ),
    "_batch_norm_with_update": lambda n: with_(
        t(n, 32, 16, 16), t(32), t(32), still(32), still(32), 0.1, 1e-5
    ),
    "native_layer_norm": lambda n: with_(t(n, 256), (256,), t(256), t(256), 1e-5),
    "nn.functional.scaled_dot_product_attention": _attention,
    "nn.functional.multi_head_attention_forward": lambda n: with_(
        t(32, n, 64),
        t(32, n, 64),
        t(32, n, 64),
        64,
        4,
        t(192, 64),
        t(192),
        None,
        None,
        False,
        0.0,
        t(64, 64),
        t(64),
    ),
    "nn.functional.embedding": lambda n: with_(t(1000, 64), ids(1000, 64 * n)),
    "nn.functional.embedding_bag": lambda n: with_(t(1000, 64), ids(1000, n, 8)),
    "nn.functional.one_hot": lambda n: with_(ids(64, 64 * n), num_classes=64),
    "nn.functional.cross_entropy": lambda n: with_(t(n, 256), ids(256, n)),
    "nn.functional.nll_loss": lambda n: with_(t(n, 256), ids(256, n)),
    "nn.functional.ctc_loss": lambda n: with_(
        t(32, n, 16).log_softmax(-1).detach(),
        ids(15, n, 8) + 1,
        torch.full((n,), 32),
        torch.full((n,), 8),
    ),
    "nn.functional.binary_cross_entropy": lambda n: with_(t(n, 64) / 2, t(n, 64) / 2),
    "nn.functional.cosine_embedding_loss": lambda n: with_(t(n, 64), t(n, 64), ids(2, n) * 2 - 1),
    "nn.functional.cosine_similarity": _pairs,
    "nn.functional.pairwise_distance": _pairs,
    "nn.functional.gaussian_nll_loss": lambda n: with_(t(n, 64), t(n, 64), t(n, 64)),
    "nn.functional.hinge_embedding_loss": lambda n: with_(t(n, 64), still(n, 64).sign()),
    "nn.functional.soft_margin_loss": lambda n: with_(t(n, 64), still(n, 64)),
    "nn.functional.margin_ranking_loss": lambda n: with_(
        t(64 * n), t(64 * n), still(64 * n).sign()
    ),
    "nn.functional.multi_margin_loss": lambda n: with_(t(n, 64), ids(64, n)),
    "nn.functional.multilabel_margin_loss": lambda n: with_(t(n, 64), ids(64, n, 64)),
    "nn.functional.multilabel_soft_margin_loss": lambda n: with_(t(n, 64), still(n, 64).sign()),
    "nn.functional.triplet_margin_loss": lambda n: with_(t(n, 64), t(n, 64), t(n, 64)),
    "nn.functional.triplet_margin_with_distance_loss": lambda n: with_(
        t(n, 64), t(n, 64), t(n, 64)
    ),
    "nn.functional.poisson_nll_loss": _pairs,
    "nn.functional.kl_div": _pairs,
    "nn.functional.huber_loss": _pairs,
    "nn.functional.smooth_l1_loss": _pairs,
    "nn.functional.l1_loss": _pairs,
    "nn.functional.mse_loss": _pairs,
    "nn.functional.pdist": lambda n: with_(t(4 * n, 8)),
    "cdist": lambda n: with_(t(n, 32, 16), t(n, 32, 16)),
    "nn.functional.interpolate.nearest": _upsample("nearest", 2),
    "nn.functional.interpolate.nearest-exact": _upsample("nearest-exact", 2),
    "nn.functional.interpolate.linear": _upsample("linear", 1),
    "nn.functional.interpolate.bilinear": _upsample("bilinear", 2),
    "nn.functional.interpolate.bicubic": _upsample("bicubic", 2),
    "nn.functional.interpolate.trilinear": _upsample("trilinear", 3),
    "nn.functional.upsample_nearest": lambda n: with_(t(n, 8, 16, 16), scale_factor=2.0),
    "nn.functional.upsample_bilinear": lambda n: with_(t(n, 8, 16, 16), scale_factor=2.0),
    "nn.functional.grid_sample": lambda n: with_(
        t(n, 8, 16, 16), t(n, 16, 16, 2) - 0.5, align_corners=False
    ),
    "grid_sampler_2d": lambda n: with_(t(n, 8, 16, 16), t(n, 16, 16, 2) - 0.5, 0, 0, False),
    "nn.functional.pixel_shuffle": lambda n: with_(t(n, 16, 16, 16), 2),
    "nn.functional.unfold": lambda n: with_(t(n, 4, 16, 16), 3),
    "nn.functional.pad.constant": lambda n: with_(t(n, 8, 16, 16), (1, 1, 1, 1)),
    "nn.functional.pad.reflect": lambda n: with_(t(n, 8, 16, 16), (1, 1, 1, 1), mode="reflect"),
    "nn.functional.pad.replicate": lambda n: with_(t(n, 8, 16, 16), (1, 1, 1, 1), mode="replicate"),
    "nn.functional.pad.circular": lambda n: with_(t(n, 8, 16, 16), (1, 1, 1, 1), mode="circular"),
    "nn.functional.glu": lambda n: with_(t(n, 512)),
    "nn.functional.prelu": lambda n: with_(t(n, 64, 16), t(64)),
    "nn.functional.dropout2d": _image(8, 16, 16),
    "nn.functional.dropout3d": _image(8, 8, 8, 8),
    "nn.functional.feature_alpha_dropout.with_train": _image(8, 16, 16),
    "sort": lambda n: with_(t(n, 256)),
    "argsort": lambda n: with_(t(n, 256)),
    "msort": lambda n: with_(t(n, 256)),
    "topk": lambda n: with_(t(n, 256), 8),
    "kthvalue": lambda n: with_(t(n, 256), 8),
    "gather": lambda n: with_(t(n, 256), 1, ids(256, n, 256)),
    "scatter": lambda n: with_(t(n, 256), 1, ids(256, n, 256), t(n, 256)),
    "scatter_add": lambda n: with_(t(n, 256), 1, ids(256, n, 256), t(n, 256)),
    "scatter_reduce.sum": lambda n: with_(t(n, 256), 1, ids(256, n, 256), t(n, 256), "sum"),
    "scatter_reduce.mean": lambda n: with_(t(n, 256), 1, ids(256, n, 256), t(n, 256), "mean"),
    "scatter_reduce.amax": lambda n: with_(t(n, 256), 1, ids(256, n, 256), t(n, 256), "amax"),
    "scatter_reduce.amin": lambda n: with_(t(n, 256), 1, ids(256, n, 256), t(n, 256), "amin"),
    "scatter_reduce.prod": lambda n: with_(t(n, 256), 1, ids(256, n, 256), t(n, 256), "prod"),
    "index_add": lambda n: with_(t(1000, 64), 0, ids(1000, n), t(n, 64)),
    "index_copy": lambda n: with_(t(n, 64), 0, torch.randperm(n), t(n, 64)),
    "index_fill": lambda n: with_(t(n, 64), 0, ids(n, n), 1.0),
    "index_select": lambda n: with_(t(1000, 64), 0, ids(1000, n)),
    "index_put": lambda n: with_(t(n, 64), (ids(n, n),), t(n, 64)),
    "index_reduce.mean": lambda n: with_(t(100, 64), 0, ids(100, n), t(n, 64), "mean"),
    "index_reduce.amax": lambda n: with_(t(100, 64), 0, ids(100, n), t(n, 64), "amax"),
    "index_reduce.amin": lambda n: with_(t(100, 64), 0, ids(100, n), t(n, 64), "amin"),
    "index_reduce.prod": lambda n: with_(t(100, 64), 0, ids(100, n), t(n, 64), "prod"),
    "__getitem__": lambda n: with_(t(1000, 64), ids(1000, n)),
    "take": lambda n: with_(t(64 * n), ids(64 * n, 64 * n)),
    "take_along_dim": lambda n: with_(t(n, 256), ids(256, n, 256), 1),
    "put": lambda n: with_(t(64 * n), ids(64 * n, 64 * n), t(64 * n)),
    "searchsorted": lambda n: with_(torch.arange(1000.0), t(64 * n)),
    "bucketize": lambda n: with_(t(64 * n), torch.arange(1000.0)),
    "bincount": lambda n: with_(ids(1000, 64 * n)),
    "histc": lambda n: with_(t(64 * n), 100),
    "repeat_interleave": lambda n: with_(t(64 * n), 2),
    "combinations": lambda n: with_(t(4 * n)),
    "linalg.inv": lambda n: with_(_spd(n)),
    "linalg.inv_ex": lambda n: with_(_spd(n)),
    "linalg.solve": lambda n: with_(_spd(n), t(n, 16, 16)),
    "linalg.solve_ex": lambda n: with_(_spd(n), t(n, 16, 16)),
    "linalg.solve_triangular": lambda n: with_(_spd(n).triu(), t(n, 16, 16), upper=True),
    "triangular_solve": lambda n: with_(t(n, 16, 16), _spd(n).triu()),
    "linalg.cholesky": lambda n: with_(_spd(n)),
    "linalg.cholesky_ex": lambda n: with_(_spd(n)),
    "cholesky": lambda n: with_(_spd(n)),
    "linalg.lu_factor": lambda n: with_(_spd(n)),
    "linalg.lu_factor_ex": lambda n: with_(_spd(n)),
    "linalg.det": lambda n: with_(_spd(n)),
    "linalg.slogdet": lambda n: with_(_spd(n)),
    "logdet": lambda n: with_(_spd(n)),
    "linalg.qr": lambda n: with_(_spd(n)),
    "linalg.matrix_power": lambda n: with_(t(n, 16, 16), 3),
    "linalg.cross": lambda n: with_(t(64 * n, 3), t(64 * n, 3)),
    "cross": lambda n: with_(t(64 * n, 3), t(64 * n, 3)),
    "stft": lambda n: with_(t(n, 1024), 64, return_complex=True),
    "nn.functional.rrelu": _image(64),
    "zeros": lambda n: with_((64, n)),
    "ones": lambda n: with_((64, n)),
    "empty": lambda n: with_((64, n)),
    "full": lambda n: with_((64, n), 1.5),
    "randn": lambda n: with_((64, n)),
    "arange": lambda n: with_(0, 64 * n),
    "linspace": lambda n: with_(0.0, 1.0, 64 * n),
    "logspace": lambda n: with_(0.0, 1.0, 64 * n),
    "to": lambda n: with_(t(64 * n), torch.float16),
    "broadcast_tensors": lambda n: with_(t(n, 64), t(64)),
    "cartesian_prod": lambda n: with_(t(n), t(64)),
    "corrcoef": lambda n: with_(t(16, n)),
    "cov": lambda n: with_(t(16, n)),
    "quantile": lambda n: with_(t(n, 256), 0.5, dim=1),
    "nanquantile": lambda n: with_(t(n, 256), 0.5, dim=1),
    "median": lambda n: with_(t(n, 256), 1),
    "nanmedian": lambda n: with_(t(n, 256), 1),
    "meshgrid.variadic_tensors": lambda n: with_(t(n), t(64)),
    "nn.functional.linear_cross_entropy": lambda n: with_(t(n, 32), t(64, 32), ids(64, n)),
    "as_strided": lambda n: with_(t(n, 64), (n, 32), (64, 2)),
    "as_strided_copy": lambda n: with_(t(n, 64), (n, 32), (64, 2)),
    "as_strided_scatter": lambda n: with_(t(n, 64), t(n, 32), (n, 32), (64, 2)),
    "native_group_norm": lambda n: with_(t(n, 32, 16, 16), t(32), t(32), n, 32, 256, 8, 1e-5),
    "constant_pad_nd": lambda n: with_(t(n, 8, 16, 16), (1, 1, 1, 1), 0.5),
    "nn.functional.hardswish": lambda n: with_(t(n, 64)),
    "nn.functional.leaky_relu": lambda n: with_(t(n, 64)),
    "nn.functional.interpolate.area": lambda n: with_(
        t(n, 8, 16, 16), scale_factor=0.5, mode="area"
    ),
    "_upsample_bilinear2d_aa": lambda n: with_(t(n, 8, 16, 16), [24, 24], False, None),
    "torch.ops.aten._safe_softmax.default": lambda n: with_(t(n, 256), -1),
    "isin": lambda n: with_(ids(1000, 64 * n), ids(1000, 100)),
    "expand_copy": lambda n: with_(t(n, 1), (n, 64)),
}
