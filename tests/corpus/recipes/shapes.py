"""Kernels that move, fill and search: no arithmetic worth the name."""

from __future__ import annotations

import functools
import struct

import torch

from corpus.launching import (
    DTYPES,
    Runner,
    byte_strides,
    int32,
    long,
    longs,
    scalar,
    uchar,
    uint,
    uints,
)
from corpus.recipes import Check, add, recipe
from corpus.recipes.images import ints, loose
from corpus.recipes.indexing import error_room
from corpus.values import exactly, values, with_gaps


def searchsorted(name: str, result: str, right: bool, run: Runner) -> list[Check]:
    edges = values(name, 4, 23, low=-50, high=50)
    x = values(name, 4, 17, low=-60, high=60)
    ordered, order = edges.sort(dim=1)
    out, through = (torch.zeros(4, 17, dtype=DTYPES[result]) for _ in range(2))
    numbers = [long(n) for n in (17, 23, 68, right, 0)]
    grid = {"threads": [64], "group": [16]}
    run(f"searchsorted_{name}_{result}", x, ordered, out, *numbers, **grid)
    expected = torch.searchsorted(ordered.double(), x.double(), right=right)
    row, found = edges[0].contiguous(), torch.zeros(68, dtype=DTYPES[result])
    numbers = [long(n) for n in (68, 23, 68, right, 1)]
    run(
        f"searchsorted_{name}_{result}_sorter",
        x,
        row,
        found,
        *numbers,
        order[0].contiguous(),
        **grid,
    )
    again = torch.searchsorted(row.double(), x.flatten().double(), right=right, sorter=order[0])
    del through
    return [Check(out, expected.to(out.dtype)), Check(found, again.to(out.dtype))]


for _name, _result in (("float", "int"), ("half", "long"), ("bfloat", "int"), ("int", "long")):
    add("Bucketization", f"searchsorted {_name}",
        functools.partial(searchsorted, _name, _result, _name == "half"))  # fmt: skip


@recipe("Eye")
def eye(run: Runner) -> list[Check]:
    checks = []
    for name in ("float", "half", "int", "bool", "float2"):
        whole = torch.ones(7, 5).to(DTYPES[name])
        diagonal = torch.zeros(7, 5).to(DTYPES[name])
        run(f"eye_{name}", whole, long(5), long(1), threads=[5, 7])
        run(f"eye_diag_{name}", diagonal, long(6), threads=[5])
        expected = torch.eye(7, 5).to(DTYPES[name])
        checks += [Check(whole, expected), Check(diagonal, expected)]
    return checks


@recipe("Repeat")
def repeat_interleave(run: Runner) -> list[Check]:
    checks = []
    for name, dtype in (("int32_t", torch.int32), ("int64_t", torch.int64)):
        counts = torch.randint(0, 6, (50,)).to(dtype)
        ends = counts.cumsum(0)
        out = torch.zeros(int(ends[-1]), dtype=dtype)
        run(f"repeat_interleave_{name}", counts, ends, out, long(1), threads=[50])
        checks.append(Check(out, torch.repeat_interleave(counts).to(dtype)))
    return checks


def cat(index: str, name: str, result: str, run: Runner) -> Check:
    code = "q" if index == "int64_t" else "i"
    parts = [values(name, 3, n, 5) for n in (2, 4)]
    parts[1] = with_gaps(parts[1])
    out = torch.zeros(3, 6, 5).to(DTYPES[result])
    shared = struct.pack("=2i", 3, 1) + ints(out.stride(), 16, code) + ints(out.shape, 16, code)
    offset = 0
    for part in parts:
        params = struct.pack(f"=2{code}", offset, 0)
        params += ints(part.stride(), 16, code) + ints(part.shape, 16, code)
        run(f"cat_{index}_{name}_{result}", part, out, shared, params, threads=[part.numel()])
        offset += part.shape[1]
    return Check(out, torch.cat(parts, 1).to(out.dtype))


for _index, _name, _result in (
    ("int32_t", "float", "float"), ("int64_t", "half", "float"), ("int32_t", "int", "bfloat"),
    ("int64_t", "bool", "long"), ("int32_t", "half2", "half2"),
):  # fmt: skip
    add("Shape", f"cat {_index} {_name} {_result}", functools.partial(cat, _index, _name, _result))


def triangle(name: str, run: Runner) -> list[Check]:
    checks = []
    for which, function in (("triu", torch.triu), ("tril", torch.tril)):
        for shape in ((6, 9), (2, 6, 9), (2, 3, 6, 9)):
            x = values(name, *shape)
            out, inplace = torch.ones_like(x), with_gaps(x)
            sizes = uints([*shape][::-1])
            grid = [9, 6, x.numel() // 54]

            def strides(tensor: torch.Tensor) -> bytes:
                return ints(tensor.stride()[::-1], tensor.ndim)

            about = int32(1, len(shape))
            run(f"{which}_int_{name}", out, x, strides(out), strides(x), sizes, about, threads=grid)
            run(
                f"{which}_inplace_int_{name}", inplace, strides(inplace), sizes, about, threads=grid
            )
            expected = function(x, 1)
            checks += [Check(out, expected), Check(inplace, expected)]
    return checks


for _name in ("float", "half", "int", "bool", "float2"):
    add("TriangularOps", f"triangle {_name}", functools.partial(triangle, _name))


@recipe("TriangularOps")
def triangle_indices(run: Runner) -> list[Check]:
    checks = []
    rows, columns = 40, 33
    for name, dtype in (("long", torch.int64), ("int", torch.int32)):
        for offset in (-3, 0, 2):
            expected = torch.tril_indices(rows, columns, offset, dtype=dtype)
            out = torch.zeros(expected.shape, dtype=dtype)
            first = min(columns, 1 + offset) if offset > 0 else int(rows + offset > 0)
            above = max(0, -offset)
            rectangle = max(rows - (above + columns - first + 1), 0) * columns
            size = expected.shape[1]
            run(f"tril_indices_{name}", out, long(above), long(first), long(columns),
                long(size - rectangle), long(size), threads=[size])  # fmt: skip
            checks.append(Check(out, expected))
            expected = torch.triu_indices(rows, columns, offset, dtype=dtype)
            out = torch.zeros(expected.shape, dtype=dtype)
            first = max(columns - offset, 0) if offset > 0 else columns
            rectangle = min(rows, -offset) * columns if offset < 0 else 0
            size = expected.shape[1]
            run(f"triu_indices_{name}", out, long(max(0, offset)), long(first), long(columns),
                long(rectangle), long(size), threads=[size])  # fmt: skip
            checks.append(Check(out, expected))
    return checks


@recipe("ConstantKernel")
def fill(run: Runner) -> list[Check]:
    checks = []
    for name in (
        "float",
        "half",
        "bfloat",
        "long",
        "int",
        "short",
        "float2",
        "char",
        "uchar",
        "bool",
    ):
        bytes_only = name in ("char", "uchar", "bool")
        room = torch.zeros(205).to(DTYPES[name])
        dense = room[1:204]  # begins at an odd address where elements are bytes
        value = 1 if name == "bool" else 7
        threads = -(-(203 + 3) // 4) if bytes_only else 203
        run(f"fill_scalar_dense_{name}", dense, scalar(value, name), uint(203), threads=[threads])
        expected = torch.zeros(205).to(DTYPES[name])
        expected[1:204] = value
        strided = with_gaps(torch.zeros(3, 5, 7).to(DTYPES[name]))
        run(f"fill_scalar_strided_{name}", strided, scalar(value, name), longs([3, 5, 7]),
            longs(byte_strides(strided)), uint(3), threads=[35, 3])  # fmt: skip
        checks += [Check(room, expected), Check(strided, torch.full_like(strided, value))]
    return checks


def cross(name: str, run: Runner) -> list[Check]:
    a, b = values(name, 4, 3, 6), values(name, 4, 3, 6)
    expected = exactly(lambda x, y: torch.linalg.cross(x, y, dim=1), a, b).to(a.dtype)
    dense, strided, gaps = torch.zeros_like(a), with_gaps(torch.zeros_like(a)), with_gaps(a)
    run(f"cross_dense_{name}", dense, a, b, uint(6), threads=[24])
    run(f"cross_strided_{name}", strided, gaps, b, longs([4, 6]), longs(strided.stride()),
        longs(gaps.stride()), longs(b.stride()), uint(3), uint(1), threads=[24])  # fmt: skip
    tolerance = {"half": 1e-2, "bfloat": 8e-2}.get(name)
    return [Check(dense, expected, tolerance), Check(strided, expected, tolerance)]


for _name in ("float", "half", "bfloat", "int", "float2"):
    add("CrossKernel", f"cross {_name}", functools.partial(cross, _name))


def unfold_backward(name: str, run: Runner) -> Check:
    shape, size, step = [4, 11, 3], 4, 2
    gradient = values(name, 4, (11 - size) // step + 1, 3, size)
    out = torch.zeros(shape).to(DTYPES[name])
    run(f"unfold_backward_{name}", gradient, out, longs(gradient.stride()), longs(shape),
        longs(out.stride()), uint(1, size, step, 3), threads=[132])  # fmt: skip
    wide = gradient.to(torch.complex128 if gradient.is_complex() else torch.float64)
    expected = torch.ops.aten.unfold_backward(wide, shape, 1, size, step)
    return Check(out, expected.to(out.dtype), loose(name))


for _name in ("float", "half", "bfloat", "float2"):
    add("UnfoldBackward", f"unfold_backward {_name}", functools.partial(unfold_backward, _name))


@recipe("Assert")
def assert_async(run: Runner) -> list[Check]:
    checks = []
    for size, name in ((1, "uchar"), (2, "short"), (4, "int"), (8, "long")):
        for value in (0, 1):
            error = error_room()
            run(f"assert_async_{size}", torch.tensor([value]).to(DTYPES[name]), b"it is zero\0",
                error, threads=[1])  # fmt: skip
            checks.append(Check(error[:1].int(), torch.tensor([1 - value], dtype=torch.int32)))
            text = bytes(error[4 + 256 : 4 + 256 + 10].tolist())
            assert value or text == b"it is zero", text
    return checks


def histogram(name: str, weighted: bool, algorithm: int, run: Runner) -> list[Check]:
    """algorithm: 1 guesses and searches nearby, 2 searches. Each thread has its own histogram."""
    x = values(name, 60, 2, low=0.05, high=3.95)
    weight = values(name, 60, low=0, high=2) if weighted else torch.ones(60, dtype=x.dtype)
    edges = [torch.linspace(0, 4, n).to(x.dtype) for n in (5, 9)]
    strides = uints(x.stride())
    offsets = torch.zeros(120, dtype=torch.int32)
    run("kernel_index_offset", strides, offsets, uints(x.shape), uint(2), threads=[120])
    out = torch.zeros(60, 4, 8, dtype=x.dtype)
    run(f"histogramdd_{name}", x, weight if weighted else None, out, offsets, longs([2]),
        torch.cat(edges), longs([5, 9]), torch.stack([e[0] for e in edges]),
        torch.stack([e[-1] for e in edges]), longs(out.stride()), uchar(algorithm),
        long(1 if weighted else -1), threads=[60])  # fmt: skip
    expected = torch.histogramdd(x.double(), [e.double() for e in edges], weight=weight.double())
    return [
        Check(out.double().sum(0), expected.hist, 1e-2 if name == "half" else 1e-5),
        Check(offsets, torch.arange(120, dtype=torch.int32)),
    ]


for _name, _weighted, _algorithm in (("float", True, 2), ("float", False, 1), ("half", True, 2)):
    add("HistogramKernel", f"histogram {_name} {_algorithm}",
        functools.partial(histogram, _name, _weighted, _algorithm))  # fmt: skip
