"""Matrix products, Cholesky, Householder, pivots, gradients of distances."""

from __future__ import annotations

import functools
import struct

import torch

from corpus.launching import DTYPES, Runner, scalar, uint, uints, ulong
from corpus.recipes import Check, add, recipe
from corpus.recipes.images import ints
from corpus.values import exactly, values

TILE = 16


def _allowed(name: str) -> float | None:
    return {"float": 5e-5, "half": 2e-2, "bfloat": 0.15, "float2": 1e-4}.get(name)


def _padded(*sizes: int) -> list[int]:
    return [-(-size // TILE) * TILE for size in sizes]


def matmul(name: str, run: Runner) -> list[Check]:
    a, b, bias = values(name, 37, 29), values(name, 45, 29).t(), values(name, 37, 45)
    out, added = torch.zeros(37, 45, dtype=a.dtype), torch.zeros(37, 45, dtype=a.dtype)
    grid = {"threads": _padded(45, 37), "group": [TILE, TILE]}
    strides = b"".join(ulong(*tensor.stride()) for tensor in (a, b, out))
    run(f"matmul_{name}", a, b, out, strides, uint(37, 29, 45), **grid)
    factors = _factors(name)
    run(f"addmm_{name}", a, b, added, bias, factors, strides + ulong(*bias.stride()),
        uint(37, 29, 45), **grid)  # fmt: skip
    product = exactly(torch.matmul, a, b)
    sum_ = exactly(lambda x, y, z: 2 * (x @ y) + 3 * z, a, b, bias)
    allowed = _allowed(name)
    return [Check(out, product.to(a.dtype), allowed), Check(added, sum_.to(a.dtype), allowed)]


def _factors(name: str) -> bytes:
    """2 and 3 in the type that sums are made in."""
    wide = "float" if name in ("half", "bfloat") else name
    return scalar(2, wide) + scalar(3, wide)


def batched(name: str, run: Runner) -> list[Check]:
    a, b = values(name, 4, 37, 29), values(name, 4, 45, 29).transpose(1, 2)
    bias, flat = values(name, 4, 37, 45), values(name, 37, 45)
    out, added = (torch.zeros(4, 37, 45, dtype=a.dtype) for _ in range(2))
    summed = torch.zeros(37, 45, dtype=a.dtype)
    group = [TILE, TILE]

    def strides(*tensors: torch.Tensor) -> bytes:
        return ulong_list([n for t in tensors for n in (t.stride(-1), t.stride(-2), t.stride(0))])

    sizes = uint(37, 29, 45, 4)
    whole = [*_padded(45, 37), 4]
    run(f"naive_bmm_{name}", a, b, out, strides(a, b, out), sizes, threads=whole, group=group)
    run(f"naive_baddbmm_{name}", a, b, added, bias, _factors(name), strides(a, b, added, bias),
        sizes, threads=whole, group=group)  # fmt: skip
    run(f"naive_addbmm_{name}", a, b, summed, flat, _factors(name), strides(a, b, summed, flat),
        sizes, threads=whole[:2], group=group)  # fmt: skip
    product = exactly(torch.bmm, a, b)
    wide_bias, wide_flat = exactly(torch.clone, bias), exactly(torch.clone, flat)
    allowed = _allowed(name)
    return [
        Check(out, product.to(a.dtype), allowed),
        Check(added, (2 * product + 3 * wide_bias).to(a.dtype), allowed),
        Check(summed, (2 * product.sum(0) + 3 * wide_flat).to(a.dtype), allowed),
    ]


def ulong_list(numbers: list[int]) -> bytes:
    return struct.pack(f"={len(numbers)}Q", *numbers)


for _name in ("float", "half", "bfloat", "int", "float2"):
    add("LinearAlgebra", f"matmul {_name}", functools.partial(matmul, _name))
    add("LinearAlgebra", f"batched {_name}", functools.partial(batched, _name))


def cholesky(upper: bool, run: Runner) -> list[Check]:
    """Blocks of 32: factor the diagonal one, then the others of its column, then what remains."""
    n, batch, block = 75, 2, 32
    x = torch.randn(batch, n, n)
    a = x @ x.transpose(1, 2) / n + torch.eye(n)
    expected = torch.linalg.cholesky(a.double(), upper=upper).float()
    info = torch.zeros(batch, dtype=torch.int32)
    letter = "U" if upper else "L"
    group = [32, 8]
    blocks = -(-n // block)
    for k in range(blocks):
        sizes = [uint(n), uint(block), uint(k)]
        run(f"factorDiagonalBlock{letter}", a, info, *sizes, threads=[32 * batch, 8], group=group)
        left = blocks - 1 - k
        if left:
            run(f"applyTRSM{letter}", a, None, *sizes, threads=[32 * batch, 8 * left], group=group)
            pairs = left * (left + 1) // 2
            run(f"applySYRK{letter}", a, None, *sizes, threads=[32 * batch, 8 * pairs], group=group)
    # The kernels count columns first.
    part = torch.triu if upper else torch.tril
    return [Check(part(a.mT), expected, 1e-4), Check(info, torch.zeros_like(info))]


add("LinearAlgebra", "cholesky lower", functools.partial(cholesky, False))
add("LinearAlgebra", "cholesky upper", functools.partial(cholesky, True))


@recipe("LinearAlgebra")
def pivots(run: Runner) -> list[Check]:
    size, batch = 37, 3
    data, pivots_, _ = torch.linalg.lu_factor_ex(torch.randn(batch, size, size))
    expected = torch.lu_unpack(data, pivots_)[0]
    rows = torch.eye(size).repeat(batch, 1, 1)
    run("applyPivots", rows, pivots_ - 1, uint(size), uint(size), threads=[batch * 64], group=[64])
    checks = [Check(rows, expected)]
    for to, name in (("int", "int"), ("long", "int"), ("long", "long")):
        order = torch.arange(size).repeat(batch, 1).to(DTYPES[to])
        run(f"unpack_pivots_{to}_{name}", order, pivots_.to(DTYPES[name]),
            uints([size, size, size]), threads=[batch])  # fmt: skip
        checks.append(Check(order, expected.argmax(1).to(order.dtype)))
    return checks


@recipe("LinearAlgebra")
def qr(run: Runner) -> list[Check]:
    a = torch.randn(2, 40, 23)
    q, r, work = torch.zeros(2, 40, 40), torch.zeros(2, 40, 23), torch.zeros(2, 40)
    info = torch.zeros(1, dtype=torch.int32)
    run("linalg_qr_householder_float", a.clone(), q, r, info, uints([40, 23]), work,
        threads=[2 * 1024], group=[1024])  # fmt: skip
    expected = torch.linalg.qr(a.double(), mode="complete")[1]
    eye = torch.eye(40).repeat(2, 1, 1)
    return [
        Check(q @ r, a, 1e-4),
        Check(q.transpose(1, 2) @ q, eye, 1e-4),
        Check(r.abs(), expected.abs().float(), 1e-4),
    ]


def orgqr(name: str, run: Runner) -> Check:
    m, n, k = 13, 9, 7
    wide = torch.complex64 if name == "float2" else torch.float32
    a, tau = torch.geqrf(torch.randn(2, m, n).to(wide))
    a, tau = a.contiguous(), tau[:, :k].contiguous()
    expected = torch.linalg.householder_product(a, tau)
    out, factors = a.to(DTYPES[name]), tau.to(DTYPES[name])
    products = [torch.zeros(2, m, m).to(DTYPES[name]) for _ in range(3)]
    params = struct.pack("=i4I", 1, m, m * m, n, k)
    params += ints(out.stride(), 16, "I") + ints(factors.stride(), 16, "I")
    params += ints(products[0].stride(), 16, "I") + ints(products[0].shape, 16, "I")
    run(f"orgqr_{name}", out, factors, *products, params, threads=[2 * m * m], group=[m * m])
    return Check(out, expected.to(out.dtype), {"half": 1e-2, "bfloat": 0.1}.get(name, 1e-4))


for _name in ("float", "half", "float2"):
    add("LinearAlgebra", f"orgqr {_name}", functools.partial(orgqr, _name))


def cdist_backward(p: float, threads: int, name: str, run: Runner) -> Check:
    a, b, gradient = values(name, 2, 9, 40), values(name, 2, 50, 40), values(name, 2, 9, 50)
    wide = a.double().requires_grad_()
    distances = torch.cdist(wide, b.double(), p)
    (expected,) = torch.autograd.grad(distances, wide, gradient.double())
    # The exact maximum must be found again, so in the kernel's own precision.
    found = torch.cdist(a.float(), b.float(), p)
    out = torch.zeros_like(a)
    kind = {1.0: 0, float("inf"): 1}.get(p, 2)
    params = struct.pack("=4qf4x", 2, 9, 50, 40, 0.0 if p == float("inf") else p - 1)
    run(f"cdist_backward_{name}_p{kind}_tg{threads}", a, b, gradient, found, out, params,
        threads=[-(-40 // threads) * threads, 9, 2], group=[threads])  # fmt: skip
    return Check(out, expected.to(out.dtype), {"half": 2e-2, "bfloat": 0.15}.get(name, 1e-4))


for _p in (1.0, 2.0, 3.0, float("inf")):
    for _threads in (32, 128):
        add("Distance", f"cdist_backward {_p} {_threads}",
            functools.partial(cdist_backward, _p, _threads, "float"))  # fmt: skip
add("Distance", "cdist_backward half", functools.partial(cdist_backward, 2.0, 32, "half"))
