"""Cumulative sums, products, logarithms of sums, minima and maxima, by each of their strategies."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch

from corpus.launching import DTYPES, Runner, uint, ulong
from corpus.recipes import Check, add
from corpus.values import values

Function = Callable[..., torch.Tensor]
FUNCTIONS: dict[str, Function] = {
    "cumsum": torch.cumsum,
    "cumprod": torch.cumprod,
    "logcumsumexp": torch.logcumsumexp,
}


def _input(operation: str, name: str, *shape: int) -> torch.Tensor:
    if operation == "cumprod":
        if DTYPES[name].is_floating_point:
            return values(name, *shape, low=0.98, high=1.02)
        return torch.where(torch.rand(shape) < 0.5, -1, 1).to(DTYPES[name])
    return values(name, *shape, low=-1, high=1)


def _check(operation: str, x: torch.Tensor, out: torch.Tensor, dim: int) -> Check:
    if not x.dtype.is_floating_point:
        return Check(out, FUNCTIONS[operation](x, dim=dim).to(out.dtype))
    expected = FUNCTIONS[operation](x.double(), dim=dim).to(out.dtype)
    return Check(out, expected, {torch.float32: 2e-4, torch.float16: 1e-2}.get(out.dtype, 4e-2))


def _out(x: torch.Tensor, result: str) -> torch.Tensor:
    return torch.zeros(x.shape, dtype=DTYPES[result] if result else x.dtype)


def _types(name: str, result: str) -> str:
    return f"{name}_{result}" if result else name


def _reads(out: torch.Tensor) -> int:
    return 4 if out.element_size() <= 4 else 2


def innermost(operation: str, name: str, result: str, size: int, run: Runner) -> Check:
    x = _input(operation, name, 5, size)
    out = _out(x, result)
    per_simdgroup = 32 * _reads(out)
    threads = min(32 * -(-size // per_simdgroup), 1024)
    run(f"{operation}_innermost_{_types(name, result)}", x, out, ulong(size), threads=[threads, 5],
        group=[threads])  # fmt: skip
    return _check(operation, x, out, 1)


def outer(operation: str, name: str, result: str, run: Runner) -> Check:
    x = _input(operation, name, 3, 70, 45)
    out = _out(x, result)
    threads = 32 // _reads(out) * 32
    run(f"{operation}_outer_{_types(name, result)}", x, out, ulong(70), ulong(45), ulong(2),
        threads=[threads, 3 * 2], group=[threads])  # fmt: skip
    return _check(operation, x, out, 1)


def blocks(operation: str, name: str, result: str, run: Runner) -> Check:
    """Sums of blocks, then each block with what precedes it."""
    size, block, count = 5000, 1250, 4
    x = _input(operation, name, 2, size)
    out = _out(x, result)
    sums = torch.zeros(2, count, dtype=torch.float32 if out.is_floating_point() else out.dtype)
    types = _types(name, result)
    run(f"{operation}_block_reduce_{types}", x, sums, ulong(size), ulong(block), ulong(count),
        threads=[256 * count, 2], group=[256])  # fmt: skip
    run(f"{operation}_block_carry_{types}", x, out, sums, ulong(size), ulong(block), ulong(count),
        threads=[256 * count, 2], group=[256])  # fmt: skip
    return _check(operation, x, out, 1)


def decoupled(operation: str, name: str, run: Runner) -> Check:
    """Threadgroups that wait for each other's sums, in the order of a counter."""
    size, tile = 9000, 4096
    tiles = -(-size // tile)
    x = _input(operation, name, 2, size)
    out = torch.zeros_like(x)
    counter = torch.zeros(1, dtype=torch.int32)
    sums, inclusive = (torch.full([2 * tiles], -1, dtype=torch.int32) for _ in range(2))
    run(f"{operation}_contig_decoupled_{name}", x, out, counter, sums, inclusive, uint(size),
        uint(tiles), threads=[256 * 2 * tiles], group=[256])  # fmt: skip
    return _check(operation, x, out, 1)


def strided_decoupled(operation: str, name: str, width: int, reads: int, run: Runner) -> Check:
    threads = 768 if width <= 2 else 512
    size = int(threads * reads * 2.3)
    tiles = 3
    x = _input(operation, name, 2, size, width)
    out = torch.zeros_like(x)
    counter, status = torch.zeros(1, dtype=torch.int32), torch.zeros(2 * tiles, dtype=torch.int32)
    sums, inclusive = (torch.zeros(2 * tiles * width, dtype=torch.int32) for _ in range(2))
    run(f"{operation}_strided_decoupled_{width}_{reads}_{name}", x, out, counter, status, sums,
        inclusive, uint(size), uint(tiles), threads=[threads * 2 * tiles],
        group=[threads])  # fmt: skip
    return _check(operation, x, out, 1)


def strided_blocks(operation: str, name: str, result: str, run: Runner) -> Check:
    size, width, block, columns = 600, 20, 160, 32
    count = -(-size // block)
    x = _input(operation, name, 2, size, width)
    out = _out(x, result)
    sums = torch.zeros(
        2 * width, count, dtype=torch.float32 if out.is_floating_point() else out.dtype
    )
    types = _types(name, result)
    threads = columns // _reads(sums) * 32
    shape = [ulong(n) for n in (size, width, 1, block, count, 2)]
    run(f"{operation}_strided_block_reduce_{columns}_{types}", x, sums, *shape,
        threads=[threads, 2 * count], group=[threads])  # fmt: skip
    run(f"{operation}_scan_block_sums_{result or name}", sums, ulong(count),
        threads=[256, 2 * width], group=[256])  # fmt: skip
    run(f"{operation}_strided_block_carry_{columns}_{types}", x, out, sums, *shape,
        threads=[threads, 2 * count], group=[threads])  # fmt: skip
    return _check(operation, x, out, 1)


def vector_blocks(operation: str, name: str, width: int, run: Runner) -> Check:
    x = _input(operation, name, 2, 900, width)
    out = torch.zeros_like(x)
    tile = 64 * _reads(out)
    block = 2 * tile
    count = -(-900 // block)
    sums = torch.zeros(2 * count * width, dtype=torch.float32 if x.is_floating_point() else x.dtype)
    shape = [ulong(n) for n in (900, block, count, 2)]
    run(f"{operation}_vec_block_reduce_{width}_{name}", x, sums, *shape, threads=[64, 2 * count],
        group=[64])  # fmt: skip
    run(f"{operation}_vec_block_carry_{width}_{name}", x, out, sums, *shape,
        threads=[64, 2 * count], group=[64])  # fmt: skip
    return _check(operation, x, out, 1)


def tiny(operation: str, name: str, result: str, run: Runner) -> Check:
    x = _input(operation, name, 300, 23)
    out = _out(x, result)
    rows = 2048 // 23
    run(f"{operation}_tiny_innermost_{_types(name, result)}", x, out, uint(23), uint(300),
        uint(rows), threads=[256 * -(-300 // rows)], group=[256])  # fmt: skip
    return _check(operation, x, out, 1)


def transposed(operation: str, name: str, run: Runner) -> Check:
    room = _input(operation, name, 100, 75)
    out = torch.zeros(75, 100, dtype=room.dtype)
    threads = 32 // _reads(out) * 32
    run(f"{operation}_innermost_transposed_{name}", room, out, ulong(100), ulong(75), ulong(3),
        threads=[threads, 3], group=[threads])  # fmt: skip
    return _check(operation, room.t(), out, 1)


def with_indices(operation: str, name: str, dim: int, run: Runner) -> list[Check]:
    function: Function = getattr(torch, operation)
    shape = (5, 300) if dim == 1 else (70, 45)
    x = values(name, *shape, low=-40, high=40)
    found, at = torch.zeros_like(x), torch.zeros(shape, dtype=torch.int64)
    reads = 4 if x.element_size() <= 4 else 2
    if dim == 1:
        threads = 32 * -(-300 // (32 * reads))
        run(f"{operation}_innermost_{name}", x, found, at, ulong(300), threads=[threads, 5],
            group=[threads])  # fmt: skip
    else:
        threads = 32 // reads * 32
        run(f"{operation}_outer_{name}", x, found, at, ulong(70), ulong(45), ulong(2),
            threads=[threads, 2], group=[threads])  # fmt: skip
    expected = function(x, dim=dim)
    return [Check(found, expected[0]), Check(at, expected[1])]


def _add(title: str, body: Callable[..., object], *arguments: object) -> None:
    words = " ".join(str(argument) for argument in arguments)
    add("ScanKernel", f"{title} {words}", functools.partial(body, *arguments))  # type: ignore[arg-type]


for _operation, _name, _result in (
    ("cumsum", "float", ""), ("cumsum", "half", ""), ("cumprod", "float", ""),
    ("cumprod", "int", "long"), ("cumsum", "long", ""), ("cumsum", "bfloat", ""),
):  # fmt: skip
    _add("innermost", innermost, _operation, _name, _result, 700)
    _add("outer", outer, _operation, _name, _result)
    _add("blocks", blocks, _operation, _name, _result)
    _add("strided blocks", strided_blocks, _operation, _name, _result)
    _add("tiny", tiny, _operation, _name, _result)
_add("innermost", innermost, "cumsum", "float", "", 5000)
_add("innermost", innermost, "logcumsumexp", "float", "", 700)
_add("innermost", innermost, "logcumsumexp", "half", "", 700)
_add("outer", outer, "logcumsumexp", "float", "")
for _operation, _name in (("cumsum", "float"), ("cumprod", "half")):
    _add("decoupled", decoupled, _operation, _name)
    _add("strided decoupled", strided_decoupled, _operation, _name, 2, 8)
    _add("strided decoupled", strided_decoupled, _operation, _name, 4, 4)
    _add("transposed", transposed, _operation, _name)
for _operation, _name, _width in (
    ("cumsum", "long", 2),
    ("cumsum", "long", 3),
    ("cumsum", "float", 3),
):
    _add("vector blocks", vector_blocks, _operation, _name, _width)
for _operation in ("cummin", "cummax"):
    for _name in ("float", "long", "half"):
        _add("with indices", with_indices, _operation, _name, 1)
        _add("with indices", with_indices, _operation, _name, 0)
