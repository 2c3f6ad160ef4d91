"""Pooling, upsampling, sampling on grids, columns of patches, padding by repetition."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

from corpus.launching import Buffer, Runner, float32, int32, long, uchar, uint, ulong
from corpus.recipes import Check, add, recipe
from corpus.recipes.indexing import error_room, no_errors
from corpus.values import values

aten = torch.ops.aten


def ints(values_: Sequence[int], room: int, code: str = "i") -> bytes:
    return struct.pack(f"={room}{code}", *values_, *[0] * (room - len(values_)))


def loose(name: str) -> float | None:
    """For sums of products in which a half or bfloat loses digits."""
    return {"half": 1e-2, "bfloat": 8e-2}.get(name)


def by(
    function: Callable[..., torch.Tensor], x: torch.Tensor, gradient: torch.Tensor
) -> torch.Tensor:
    """The gradient of `function` at `x`, in high precision."""
    wide = x.double().requires_grad_()
    (found,) = torch.autograd.grad(function(wide), wide, gradient.double())
    return found


# ---- pooling


def max_pool(name: str, dims: int, run: Runner) -> list[Check]:
    x = values(name, 2, 3, *(9, 11, 7)[:dims], low=-90, high=90)
    kernel, stride, padding, dilation = [3] * dims, [2] * dims, [1] * dims, [1, 2, 1][:dims]
    pool = F.max_pool2d if dims == 2 else F.max_pool3d
    wide = x.double() if x.is_floating_point() else x.float()
    expected, at = pool(wide, kernel, stride, padding, dilation, return_indices=True)
    out, found = torch.zeros(expected.shape).to(x.dtype), torch.zeros_like(at)
    params = struct.pack("=2i", dims + 2, dims) + b"".join(
        ints(numbers, 5)
        for tensor in (x, out, found) for numbers in (tensor.shape, tensor.stride())
    )  # fmt: skip
    params += (
        b"".join(ints(numbers, 3) for numbers in (kernel, stride, padding, dilation)) + b"\1\0\0\0"
    )
    run(f"max_pool_{name}", x, out, found, params, threads=[out.numel()])
    checks = [Check(out, expected.to(x.dtype)), Check(found, at)]
    if name != "float":
        return checks
    gradient, into = values(name, *out.shape), torch.zeros_like(x)
    backward = struct.pack("=2i", dims + 2, dims) + b"".join(
        ints(numbers, 5)
        for numbers in (into.shape, into.stride(), gradient.shape, gradient.stride(), at.stride())
    )
    run(f"max_pool_backward_{name}", into, gradient, at, backward, threads=[gradient.numel()])
    one = functools.partial(
        pool, kernel_size=kernel, stride=stride, padding=padding, dilation=dilation
    )
    return [*checks, Check(into, by(one, x, gradient).to(x.dtype))]


def max_unpool(name: str, run: Runner) -> list[Check]:
    x = values("float", 2, 3, 8, 10)
    pooled, at = F.max_pool2d(x, 2, return_indices=True)
    pooled = pooled.to(values(name, 1).dtype)
    out, error = torch.zeros(x.shape, dtype=pooled.dtype), error_room()
    params = struct.pack("=2i", 4, 2) + b"".join(
        ints(numbers, 5)
        for numbers in (pooled.shape, pooled.stride(), out.shape, out.stride(), at.stride())
    )
    run(f"max_unpool_{name}", out, pooled, at, params, error, threads=[pooled.numel()])
    return [Check(out, F.max_unpool2d(pooled.float(), at, 2).to(out.dtype)), no_errors(error)]


def avg_pool(name: str, include_padding: bool, run: Runner) -> list[Check]:
    x = values(name, 2, 3, 9, 11, 7)
    pool = functools.partial(F.avg_pool3d, kernel_size=3, stride=2, padding=1,
                             count_include_pad=include_padding)  # fmt: skip
    expected = pool(x.double())
    out = torch.zeros(expected.shape, dtype=x.dtype)
    params = struct.pack("=2i", 5, 3) + b"".join(
        ints(numbers, 5) for numbers in (x.shape, x.stride(), out.shape, out.stride())
    )
    params += ints([3] * 3, 3) + ints([2] * 3, 3) + ints([1] * 3, 3)
    params += struct.pack("=2?2xi", include_padding, False, 0)
    run(f"avg_pool_{name}", x, out, params, threads=[out.numel()])
    gradient, into = values(name, *out.shape), torch.zeros_like(x)
    run(f"avg_pool_backward_{name}", into, gradient, params, threads=[out.numel()])
    return [
        Check(out, expected.to(x.dtype)),
        Check(into, by(pool, x, gradient).to(x.dtype), loose(name)),
    ]


for _name in ("float", "half", "bfloat", "int", "uchar"):
    add("Pooling", f"max_pool 2d {_name}", functools.partial(max_pool, _name, 2))
    add("Pooling", f"max_unpool {_name}", functools.partial(max_unpool, _name))
add("Pooling", "max_pool 3d", functools.partial(max_pool, "float", 3))
for _name in ("float", "half", "bfloat"):
    add("Pooling", f"avg_pool {_name}", functools.partial(avg_pool, _name, _name != "half"))


# ---- upsampling


def _scale(source: int, target: int, align: bool) -> float:
    if align:
        return (source - 1) / (target - 1) if target > 1 else 0.0
    return source / target


def _two_axes(x: torch.Tensor, out: torch.Tensor, align: bool) -> list[Buffer]:
    scales = [_scale(x.shape[at], out.shape[at], align) for at in (-1, 2)]
    return [ulong(*x.stride()), ulong(*out.stride()), long(*x.shape), long(*out.shape),
            float32(*scales), uchar(align)]  # fmt: skip


def _three_axes(x: torch.Tensor, out: torch.Tensor, align: bool) -> bytes:
    lists = (x.stride(), x.shape, out.stride(), out.shape)
    scales = [_scale(x.shape[at], out.shape[at], align) for at in (4, 3, 2)]
    packed = b"".join(ints(numbers, 5, "Q") for numbers in lists)
    return packed + struct.pack("=3f?3x", *scales, align)


_FLAT: dict[str, Callable[..., torch.Tensor]] = {
    "bilinear2d": lambda x, size, align: F.interpolate(
        x, size, mode="bilinear", align_corners=align
    ),
    "bicubic2d": lambda x, size, align: F.interpolate(x, size, mode="bicubic", align_corners=align),
    "bilinear2d_aa": lambda x, size, align: aten._upsample_bilinear2d_aa(x, size, align),
    "bicubic2d_aa": lambda x, size, align: aten._upsample_bicubic2d_aa(x, size, align),
}
_DEEP: dict[str, Callable[..., torch.Tensor]] = {
    "nearest_3d": lambda x, size, align: aten.upsample_nearest3d(x, size),
    "nearest_exact_3d": lambda x, size, align: aten._upsample_nearest_exact3d(x, size),
    "trilinear": lambda x, size, align: F.interpolate(
        x, size, mode="trilinear", align_corners=align
    ),
}


def flat(kind: str, name: str, size: tuple[int, int], align: bool, run: Runner) -> Check:
    x = values(name, 2, 3, 9, 11)
    out = torch.zeros(2, 3, *size, dtype=x.dtype)
    run(f"upsample_{kind}_{name}", x, out, *_two_axes(x, out, align), threads=[math.prod(size)])
    return Check(out, _FLAT[kind](x.double(), size, align).to(x.dtype), loose(name) or 5e-5)


def linear(name: str, align: bool, run: Runner) -> Check:
    x, out = values(name, 2, 3, 9), torch.zeros(2, 3, 23)
    out = out.to(x.dtype)
    run(f"upsample_linear1d_{name}", x, out, *_two_axes(x, out, align), threads=[23])
    expected = F.interpolate(x.double(), 23, mode="linear", align_corners=align)
    return Check(out, expected.to(x.dtype), loose(name) or 5e-5)


def bicubic_backward(name: str, run: Runner) -> Check:
    x, gradient = values(name, 2, 3, 9, 11), values(name, 2, 3, 17, 13)
    into = torch.zeros_like(x)
    run(f"upsample_bicubic2d_backward_{name}", into, gradient, *_two_axes(x, gradient, False),
        threads=[17 * 13])  # fmt: skip
    expected = by(lambda t: F.interpolate(t, (17, 13), mode="bicubic"), x, gradient)
    return Check(into, expected.to(x.dtype), loose(name) or 5e-5)


def deep(kind: str, name: str, align: bool, run: Runner) -> list[Check]:
    size = (7, 5, 12)
    x, gradient = values(name, 2, 3, 4, 7, 6), values(name, 2, 3, *size)
    out, into = torch.zeros_like(gradient), torch.zeros_like(x)
    params = _three_axes(x, out, align)
    run(f"upsample_{kind}_{name}", x, out, params, threads=[math.prod(size)])
    expected = _DEEP[kind](x.double(), size, align)
    run(f"upsample_{kind}_backward_{name}", into, gradient, params, threads=[math.prod(size)])
    back = by(lambda t: _DEEP[kind](t, size, align), x, gradient)
    return [
        Check(out, expected.to(x.dtype), loose(name) or 5e-5),
        Check(into, back.to(x.dtype), loose(name) or 5e-5),
    ]


for _name in ("float", "half", "bfloat"):
    for _kind in _FLAT:
        add("UpSample", f"{_kind} {_name}",
            functools.partial(flat, _kind, _name, (5, 23), False))  # fmt: skip
    add("UpSample", f"linear {_name}", functools.partial(linear, _name, _name == "half"))
    add("UpSample", f"bicubic backward {_name}", functools.partial(bicubic_backward, _name))
    for _kind in _DEEP:
        add("UpSample", f"{_kind} {_name}", functools.partial(deep, _kind, _name, False))
add(
    "UpSample", "bilinear2d aligned", functools.partial(flat, "bilinear2d", "float", (17, 23), True)
)
add("UpSample", "trilinear aligned", functools.partial(deep, "trilinear", "float", True))


# ---- sampling on grids

_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


def _grid_params(
    out: torch.Tensor, x: torch.Tensor, grid: torch.Tensor, align: bool, code: str = "i"
) -> bytes:
    lists = b"".join(
        ints(numbers, x.ndim, code)
        for tensor in (out, x, grid) for numbers in (tensor.shape, tensor.stride())
    )  # fmt: skip
    gap = b"" if code == "i" else b"\0" * 4
    return struct.pack("=i", x.ndim - 2) + gap + lists + struct.pack("=?", align) + b"\0\0\0" + gap


def _sampled(name: str, dims: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    x = values(name, 2, 3, *(7, 9, 6)[:dims])
    grid = values(name, 2, *(4, 5, 3)[:dims], dims, low=-1.3, high=1.3)
    return x, grid, torch.zeros(2, 3, *(4, 5, 3)[:dims], dtype=x.dtype)


def _sample(
    x: torch.Tensor, grid: torch.Tensor, mode: str, padding: str, align: bool
) -> torch.Tensor:
    return F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)


def grid_sample(dims: int, mode: str, padding: str, index: str, name: str, run: Runner) -> Check:
    x, grid, out = _sampled(name, dims)
    align = padding == "border"
    threads = out.numel() if dims == 3 else out.numel() // 3
    params = _grid_params(out, x, grid, align, "i" if index == "i32" else "q")
    run(f"grid_sampler_{dims}d_{mode}_{padding}_{index}_{name}", out, x, grid, params,
        threads=[threads])  # fmt: skip
    expected = _sample(x.double(), grid.double(), mode, padding, align)
    return Check(out, expected.to(x.dtype), loose(name) or 1e-4)


def grid_sample_backward(mode: str, padding: str, name: str, run: Runner) -> list[Check]:
    x, grid, gradient = _sampled(name, 2)
    gradient = values(name, *gradient.shape)
    into_x, into_grid = torch.zeros_like(x), torch.zeros_like(grid)
    params = _grid_params(gradient, x, grid, False) + b"".join(
        ints(tensor.stride(), 4) for tensor in (gradient, into_x, into_grid)
    )
    params += struct.pack("=2i2?2x", _PADDINGS[padding], _MODES[mode], True, mode != "nearest")
    place = f"{padding}_" if mode == "bicubic" else ""
    threads = [gradient.numel() // 3]
    run(f"grid_sampler_2d_backward_{mode}_input_{place}i32_{name}", into_x, gradient, grid, params,
        threads=threads)  # fmt: skip
    wide_x, wide_grid = x.double().requires_grad_(), grid.double().requires_grad_()
    expected = torch.autograd.grad(
        _sample(wide_x, wide_grid, mode, padding, False), (wide_x, wide_grid), gradient.double()
    )
    checks = [Check(into_x, expected[0].to(x.dtype), loose(name) or 1e-4)]
    if mode != "nearest":
        run(f"grid_sampler_2d_backward_{mode}_grid_{place}i32_{name}", into_grid, gradient, x, grid,
            params, threads=threads)  # fmt: skip
        checks.append(Check(into_grid, expected[1].to(x.dtype), 20 * (loose(name) or 1e-5)))
    return checks


def grid_sample_backward_3d(mode: str, padding: str, run: Runner) -> list[Check]:
    x, grid, gradient = _sampled("float", 3)
    gradient = values("float", *gradient.shape)
    into_x, into_grid = torch.zeros_like(x), torch.zeros_like(grid)
    params = _grid_params(gradient, x, grid, False) + b"".join(
        ints(tensor.stride(), 5) for tensor in (gradient, into_x, into_grid)
    )
    params += struct.pack("=2i2?2x", _PADDINGS[padding], _MODES[mode], True, mode != "nearest")
    run("grid_sampler_3d_backward_i32_float", gradient, x, grid, into_x, into_grid, params,
        threads=[3, 5 * 4, 2], group=[16, 16])  # fmt: skip
    wide_x, wide_grid = x.double().requires_grad_(), grid.double().requires_grad_()
    expected = torch.autograd.grad(
        _sample(wide_x, wide_grid, mode, padding, False), (wide_x, wide_grid), gradient.double()
    )
    return [Check(into_x, expected[0].float(), 1e-4), Check(into_grid, expected[1].float(), 2e-4)]


for _mode in _MODES:
    for _padding in _PADDINGS:
        add("GridSampler", f"2d {_mode} {_padding}",
            functools.partial(grid_sample, 2, _mode, _padding, "i32", "float"))  # fmt: skip
    add("GridSampler", f"2d backward {_mode}",
        functools.partial(grid_sample_backward, _mode, "border", "float"))  # fmt: skip
for _mode in ("bilinear", "nearest"):
    add("GridSampler", f"3d {_mode}",
        functools.partial(grid_sample, 3, _mode, "reflection", "i64", "float"))  # fmt: skip
    add("GridSampler", f"3d backward {_mode}",
        functools.partial(grid_sample_backward_3d, _mode, "zeros"))  # fmt: skip
add("GridSampler", "2d half", functools.partial(grid_sample, 2, "bilinear", "zeros", "i64", "half"))
add("GridSampler", "2d backward half",
    functools.partial(grid_sample_backward, "bilinear", "zeros", "half"))  # fmt: skip


# ---- patches and padding


def im2col(name: str, width: str, run: Runner) -> list[Check]:
    x = values(name, 2, 3, 9, 11)
    kernel, dilation, padding, stride = (3, 2), (1, 2), (1, 2), (2, 1)
    wide = x.double() if name != "bool" else x.float()
    expected = F.unfold(wide, kernel, dilation, padding, stride)
    rows = (9 + 2 * 1 - 1 * 2 - 1) // 2 + 1
    columns = (11 + 2 * 2 - 2 * 1 - 1) // 1 + 1
    out = torch.zeros(2, 3 * 6, rows * columns, dtype=x.dtype)
    pack = uint if width == "u32" else ulong
    signed = int32 if width == "u32" else long
    strides = out.stride()
    run(f"im2col_{name}_{width}", x, out, uint(2, 3, 2, 1), int32(2, 1, 1, 2),
        pack(*x.stride()[::-1]), pack(*strides[::-1], columns), signed(11, 9, 3, 2),
        threads=[rows * columns, 3, 2])  # fmt: skip
    return [Check(out, expected.to(x.dtype))]


def col2im(name: str, width: str, run: Runner) -> Check:
    shape, kernel, dilation, padding, stride = (9, 11), (3, 2), (1, 2), (1, 2), (2, 1)
    rows, columns = 5, 13
    x = values(name, 2, 3 * 6, rows * columns)
    out = torch.zeros(2, 3, *shape, dtype=x.dtype)
    expected = F.fold(x.double(), shape, kernel, dilation, padding, stride)
    pack = uint if width == "u32" else ulong
    strides = x.stride()
    run(f"col2im_kernel_{name}_{width}", x, out, pack(strides[0]), uint(3), uint(*shape),
        uint(*kernel), uint(*padding), uint(*stride), uint(*dilation), uint(rows, columns),
        pack(out.stride()[0]), pack(*strides[1:]), threads=[11, 9, 6])  # fmt: skip
    return Check(out, expected.to(x.dtype), loose(name))


for _name in ("float", "half", "bfloat"):
    for _width in ("u32", "u64"):
        add("Im2Col", f"im2col {_name} {_width}", functools.partial(im2col, _name, _width))
        add("Col2Im", f"col2im {_name} {_width}", functools.partial(col2im, _name, _width))


@recipe("ReplicationPad")
def replication_pad(run: Runner) -> list[Check]:
    checks = []
    for name in ("float", "half", "int"):
        x = values(name, 2, 3, 9)
        out = torch.zeros(2, 3, 9 + 2 + 3, dtype=x.dtype)
        run(f"replication_pad1d_forward_{name}", x, out, int32(9, 14, 2, 0), threads=[14, 3, 2])
        expected = F.pad(x.double(), (2, 3), mode="replicate").to(x.dtype)
        checks.append(Check(out, expected))
        if name != "int":
            gradient, into = values(name, *out.shape), torch.zeros_like(x)
            run(f"replication_pad1d_backward_{name}", gradient, into, int32(9, 14, 2, 0),
                threads=[9, 3, 2])  # fmt: skip
            back = by(lambda t: F.pad(t, (2, 3), mode="replicate"), x, gradient)
            checks.append(Check(into, back.to(x.dtype), loose(name)))
    return checks
