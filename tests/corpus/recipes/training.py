"""Fused optimizers, automatic mixed precision, dropout. Tensors come as lists of addresses."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from corpus.launching import Runner, float32, int32, long, scalar, uchar, uint
from corpus.recipes import Check, add, recipe
from corpus.recipes.images import ints
from corpus.values import values

_MOST = 32
_CHUNK = 65536
SIZES = (1000, 70000, 37)


def addresses(*lists: Sequence[torch.Tensor]) -> bytes:
    return b"".join(ints([t.data_ptr() for t in tensors], _MOST, "Q") for tensors in lists)


def metadata(tensors: Sequence[torch.Tensor]) -> tuple[bytes, int]:
    """Which threadgroup does which part of which tensor; and how many there are."""
    pieces = [
        (at, chunk)
        for at, tensor in enumerate(tensors)
        for chunk in range(-(-tensor.numel() // _CHUNK))
    ]
    lists = [[t.numel() for t in tensors], [at for at, _ in pieces], [chunk for _, chunk in pieces]]
    return b"".join(ints(numbers, _MOST, "Q") for numbers in lists), len(pieces)


def _tensors(name: str, low: float = -2, high: float = 2) -> list[torch.Tensor]:
    return [values(name, size, low=low, high=high) for size in SIZES]


def _tolerance(name: str) -> float:
    return {"float": 2e-5, "half": 4e-3, "bfloat": 3e-2}[name]


def adam(kind: str, amsgrad: bool, name: str, run: Runner) -> list[Check]:
    lr, beta1, beta2, decay, eps = 0.1, 0.9, 0.99, 0.01, 1e-4
    params, grads, averages = _tensors(name), _tensors(name), _tensors(name)
    squares, largest = _tensors(name, 0.5), _tensors(name, 0.5)
    steps = [torch.tensor([3.0]) for _ in SIZES]
    about, groups = metadata(params)
    lists = [params, grads, averages, squares, *([largest] if amsgrad else []), steps]
    expected = [[t.double() for t in tensors] for tensors in lists]
    for at in range(len(SIZES)):
        p, g, m, v = (tensors[at] for tensors in expected[:4])
        if kind == "adam":
            g = g + decay * p
        else:
            p.mul_(1 - lr * decay)
        m.mul_(beta1).add_(g, alpha=1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        top = v
        if amsgrad:
            top = torch.maximum(expected[4][at], v)
            expected[4][at].copy_(top)
        p -= lr / (1 - beta1**3) * m / (top.sqrt() / (1 - beta2**3) ** 0.5 + eps)
    suffix = "_amsgrad" if amsgrad else ""
    run(f"fused_{kind}{suffix}_{name}_float", addresses(*lists), about,
        *(float32(n) for n in (lr, beta1, beta2, decay, eps)), uchar(0), None, None,
        threads=[64 * groups], group=[64],
        reached=[t for tensors in lists for t in tensors])  # fmt: skip
    allowed = _tolerance(name)
    return [
        Check(found, wanted.to(found.dtype), allowed)
        for tensors, results in zip(lists, expected, strict=True)
        for found, wanted in zip(tensors, results, strict=True)
    ]


def sgd(momentum: bool, name: str, run: Runner) -> list[Check]:
    lr, decay, factor, dampening, scale = 0.1, 0.01, 0.9, 0.1, 2.0
    params, grads, buffers = _tensors(name), _tensors(name), _tensors(name)
    about, groups = metadata(params)
    lists = [params, grads, *([buffers] if momentum else [])]
    wanted_params, wanted_buffers = [], []
    for p, g, b in zip(params, grads, buffers, strict=True):
        step = g.double() / scale + decay * p.double()
        if momentum:
            kept = factor * b.double() + (1 - dampening) * step
            wanted_buffers.append(kept)
            step = step + factor * kept
        wanted_params.append(p.double() - lr * step)
    grid = {"threads": [64 * groups], "group": [64],
            "reached": [t for tensors in lists for t in tensors]}  # fmt: skip
    ends = [torch.tensor([scale]), torch.tensor([0.0])]
    if momentum:
        run(f"fused_sgd_momentum_{name}", addresses(*lists), about, float32(decay), float32(factor),
            float32(lr), float32(dampening), uchar(1), uchar(0), uchar(0), *ends,
            **grid)  # fmt: skip
    else:
        run(f"fused_sgd_{name}", addresses(*lists), about, float32(decay), float32(lr), uchar(0),
            *ends, **grid)  # fmt: skip
    checks = [
        Check(found, wanted.to(found.dtype), _tolerance(name))
        for found, wanted in zip(params, wanted_params, strict=True)
    ]
    return checks + [
        Check(found, wanted.to(found.dtype), _tolerance(name))
        for found, wanted in zip(buffers, wanted_buffers, strict=False)
    ]


for _name in ("float", "half", "bfloat"):
    for _kind in ("adam", "adamw"):
        for _amsgrad in (False, True):
            add("FusedOptimizerOps", f"{_kind} {_amsgrad} {_name}",
                functools.partial(adam, _kind, _amsgrad, _name))  # fmt: skip
    for _momentum in (False, True):
        add(
            "FusedOptimizerOps",
            f"sgd {_momentum} {_name}",
            functools.partial(sgd, _momentum, _name),
        )


def unscale(name: str, broken: bool, run: Runner) -> list[Check]:
    tensors, single = _tensors(name), values(name, 500)
    if broken:
        tensors[1][69000] = float("inf")
        single[3] = float("nan")
    expected = [t.double() * 0.25 for t in (*tensors, single)]
    found, found_single = torch.zeros(1), torch.zeros(1)
    about, groups = metadata(tensors)
    run(f"ampNonFiniteCheckAndUnscale_{name}", addresses(tensors), about, found, float32(0.25),
        threads=[64 * groups], group=[64], reached=tensors)  # fmt: skip
    run(
        f"ampNonFiniteCheckAndUnscaleSingle_{name}",
        single,
        found_single,
        float32(0.25),
        threads=[500],
    )
    checks = [
        Check(actual, wanted.to(actual.dtype))
        for actual, wanted in zip((*tensors, single), expected, strict=True)
    ]
    flag = torch.tensor([1.0 if broken else 0.0])
    return [*checks, Check(found, flag), Check(found_single, flag)]


for _name in ("float", "half", "bfloat"):
    add("Amp", f"unscale {_name}", functools.partial(unscale, _name, False))
    add("Amp", f"unscale broken {_name}", functools.partial(unscale, _name, True))


@recipe("Amp")
def update_scale(run: Runner) -> list[Check]:
    checks = []
    for name in ("float", "half", "bfloat"):
        for tracker, infinite in ((0, 0.0), (1, 0.0), (1, 1.0)):
            scale, count = (
                values(name, 1, low=2, high=4),
                torch.tensor([tracker], dtype=torch.int32),
            )
            flag = torch.tensor([infinite])
            wanted, wanted_count = scale.float(), count.clone()
            torch._amp_update_scale_(wanted, wanted_count, flag, 2.0, 0.5, 2)
            run(f"ampUpdateScale_{name}", scale, count, flag, scalar(2.0, name), scalar(0.5, name),
                int32(2), threads=[1])  # fmt: skip
            checks += [Check(scale, wanted.to(scale.dtype)), Check(count, wanted_count)]
    return checks


def dropout(name: str, run: Runner) -> list[Check]:
    """Which elements go is random; what becomes of the others is not."""
    x, out = values(name, 4003), values(name, 4003)
    mask = torch.zeros(4003, dtype=torch.bool)
    run(f"dropout_fwd_{name}", out, mask, x, float32(0.75, 4 / 3), long(42, 7), uint(4003),
        threads=[1001])  # fmt: skip
    wide = x.to(torch.complex64 if x.is_complex() else torch.float32)
    kept = Check(out, torch.where(mask, wide * (4 / 3), 0).to(x.dtype))
    share = Check(mask.float().mean().reshape(1), torch.tensor([0.75]), 0.03)
    back = torch.zeros_like(x)
    run(f"dropout_bwd_{name}", back, x, mask, float32(4 / 3), threads=[4003])
    return [kept, share, Check(back, torch.where(mask, wide * (4 / 3), 0).to(x.dtype))]


for _name in ("float", "half", "bfloat", "float2"):
    add("Dropout", f"dropout {_name}", functools.partial(dropout, _name))
