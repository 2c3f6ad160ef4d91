"""Layer, group and RMS norms, and renorm."""

from __future__ import annotations

import functools
import struct

import torch
import torch.nn.functional as F

from corpus.launching import DTYPES, Runner, float32, int32, uint
from corpus.recipes import Check, add, recipe
from corpus.values import exactly, values

EPS = 1e-5


def layer_norm(kernel: str, name: str, size: int, run: Runner) -> list[Check]:
    x, weight, bias = values(name, 5, size), values(name, size), values(name, size)
    out = torch.zeros_like(x)
    mean, rstd = torch.zeros(5, dtype=x.dtype), torch.zeros(5, dtype=x.dtype)
    threads = min(-(-size // 4), 1024)
    run(f"{kernel}_{name}", x, out, mean, rstd, uint(size), float32(EPS), int32(1), int32(1),
        weight, bias, threads=[5 * threads], group=[threads])  # fmt: skip
    expected = exactly(lambda *t: F.layer_norm(t[0], [size], t[1], t[2], EPS), x, weight, bias)
    wide = x.double()
    return [
        Check(out, expected.to(x.dtype), None if name == "float" else 3e-2),
        Check(mean, wide.mean(1).to(x.dtype)),
        Check(rstd, (wide.var(1, correction=0) + EPS).rsqrt().to(x.dtype)),
    ]


def rms_norm(kernel: str, name: str, size: int, run: Runner) -> Check:
    x, weight = values(name, 5, size), values(name, size)
    out = torch.zeros_like(x)
    threads = 1024 if "looped" in kernel else 32 * -(-size // 128)
    run(f"{kernel}_{name}", x, weight, out, float32(EPS), uint(size), uint(1),
        threads=[5 * threads], group=[threads])  # fmt: skip
    expected = exactly(lambda a, w: F.rms_norm(a, [size], w, EPS), x, weight)
    return Check(out, expected.to(x.dtype), None if name == "float" else 3e-2)


for _name in ("float", "half", "bfloat"):
    for _kernel, _size in (("single_row", 37), ("single_row", 1000), ("looped", 5000)):
        add("LayerNorm", f"layer_norm {_kernel} {_name} {_size}",
            functools.partial(layer_norm, f"layer_norm_{_kernel}", _name, _size))  # fmt: skip
    for _kernel, _size in (("rms_norm", 37), ("rms_norm", 1000), ("rms_norm_looped", 5000)):
        add("RMSNorm", f"{_kernel} {_name} {_size}",
            functools.partial(rms_norm, _kernel, _name, _size))  # fmt: skip


def _group_norm_case(name: str) -> tuple[torch.Tensor, ...]:
    x, gradient = values(name, 3, 6, 5, 7), values(name, 3, 6, 5, 7)
    return x, gradient, values("float", 6), values("float", 6)


def _group_norm_params(index: str) -> bytes:
    batch, channels, area, groups = 3, 6, 35, 2
    per_group = channels // groups
    code = "6I" if index == "uint32_t" else "6Q"
    return struct.pack(
        f"={code}f4x", area, groups, per_group, per_group * area, channels, batch * area, EPS
    )


def group_norm(name: str, index: str, run: Runner) -> list[Check]:
    x, _, weight, bias = _group_norm_case(name)
    out, mean, rstd = torch.zeros_like(x), torch.zeros(6), torch.zeros(6)
    run(f"group_norm_{name}_float_float_float_{index}", out, mean, rstd, x, weight, bias,
        _group_norm_params(index), threads=[6 * 32], group=[32])  # fmt: skip
    wide = [x.double(), weight.double(), bias.double()]
    expected = torch.ops.aten.native_group_norm(*wide, 3, 6, 35, 2, EPS)
    return [
        Check(out, expected[0].to(x.dtype), None if name == "float" else 3e-2),
        Check(mean, expected[1].flatten().float()),
        Check(rstd, expected[2].flatten().float(), 5e-5),
    ]


def group_norm_backward(name: str, run: Runner) -> list[Check]:
    x, gradient, weight, bias = _group_norm_case(name)
    wide = [t.double() for t in (gradient, x)]
    _, mean, rstd = torch.ops.aten.native_group_norm(
        x.double(), weight.double(), bias.double(), 3, 6, 35, 2, EPS
    )
    by_x, by_weight, by_bias = torch.ops.aten.native_group_norm_backward(
        *wide, mean, rstd, weight.double(), 3, 6, 35, 2, [True, True, True]
    )
    mean, rstd = mean.float(), rstd.float()
    dx, dweight, dbias = torch.zeros_like(x), torch.zeros(6), torch.zeros(6)
    params = _group_norm_params("uint32_t")
    run(f"group_norm_backward_x_{name}_float_float_uint32_t", dx, gradient, x, mean, rstd, weight,
        params, threads=[6 * 96], group=[96])  # fmt: skip
    run(f"group_norm_backward_affine_{name}_float_float_uint32_t", dweight, dbias, gradient, x,
        mean, rstd, params, threads=[6 * 64], group=[64])  # fmt: skip
    return [
        Check(dx, by_x.to(x.dtype), None if name == "float" else 3e-2),
        Check(dweight, by_weight.float()),
        Check(dbias, by_bias.float()),
    ]


for _name in ("float", "half", "bfloat"):
    for _index in ("uint32_t", "uint64_t"):
        add("GroupNorm", f"group_norm {_name} {_index}",
            functools.partial(group_norm, _name, _index))  # fmt: skip
    add("GroupNorm", f"group_norm_backward {_name}", functools.partial(group_norm_backward, _name))


@recipe("RenormKernel")
def renorm(run: Runner) -> list[Check]:
    checks = []
    for name in ("float", "half", "bfloat"):
        norms = values(name, 70, low=0.1, high=3)
        factors = torch.zeros_like(norms)
        run(f"renorm_{name}", norms, factors, float32(1.5), threads=[70])
        wide = norms.double()
        expected = torch.where(wide > 1.5, 1.5 / (wide + 1e-7), 1.0)
        checks.append(Check(factors, expected.to(DTYPES[name])))
    return checks
