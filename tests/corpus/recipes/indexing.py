"""Reading and writing through tensors of indices, masks, and finding what is not zero."""

from __future__ import annotations

import functools
import struct

import torch

from corpus.launching import (
    DTYPES,
    Buffer,
    Runner,
    byte_strides,
    int32,
    long,
    longs,
    scalar,
    uint,
    uints,
)
from corpus.recipes import Check, add, recipe
from corpus.values import values, with_gaps

ERROR_BYTES = 4 + 30 * 512
_OF_BITS = {"8bit": "char", "16bit": "half", "32bit": "float", "64bit": "long"}


def error_room() -> torch.Tensor:
    """A counter of errors, then their texts."""
    return torch.zeros(ERROR_BYTES, dtype=torch.uint8)


def no_errors(room: torch.Tensor) -> Check:
    return Check(room[:4], torch.zeros(4, dtype=torch.uint8))


def _through_indices(
    kernel: str, out: torch.Tensor, source: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor,
    *, reading: bool, run: Runner, threads: int,
) -> Check:  # fmt: skip
    """Both index tensors are (4, 5); `out` or `source` is the tensor that they reach into."""
    error = error_room()
    reached = source if reading else out
    zero = [0, 0]
    strides = {
        "element": [stride * reached.element_size() for stride in (1, 5)],
        "index": [8, 40],
    }
    sizes = [5, 4]
    run(kernel, out, source, struct.pack("=2Q", rows.data_ptr(), columns.data_ptr()), longs(sizes),
        longs(strides["element"] if reading else zero),
        longs(zero if reading else strides["element"]), longs(strides["index"]),
        longs(list(reached.shape)), longs(byte_strides(reached)), uint(2, 2, 20, 0), error,
        threads=[threads], reached=[rows, columns])  # fmt: skip
    return no_errors(error)


def index_select(bits: str, run: Runner) -> list[Check]:
    source = values(_OF_BITS[bits], 9, 11, low=-90, high=90)
    rows, columns = torch.randint(-9, 9, (4, 5)), torch.randint(-11, 11, (4, 5))
    out = torch.zeros(4, 5, dtype=source.dtype)
    fine = _through_indices(f"index_select_{bits}", out, source, rows, columns, reading=True,
                            run=run, threads=20)  # fmt: skip
    return [Check(out, source[rows, columns]), fine]


def index_put(kernel: str, name: str, run: Runner) -> list[Check]:
    out = values(name, 9, 11, low=-90, high=90)
    source = values(name, 4, 5, low=-90, high=90)
    where = torch.randperm(99)[:20].reshape(4, 5)
    if "accumulate" in kernel:
        where[1] = where[0]
    rows, columns = where // 11, where % 11
    # Accumulation of halves and bfloats depends on the order: numbers that fit exactly.
    if out.is_floating_point():
        out, source = out.round(), source.round()
    expected = out.clone().index_put_((rows, columns), source, accumulate="accumulate" in kernel)
    serial = "serial" in kernel
    fine = _through_indices(kernel, out, source, rows, columns, reading=False, run=run,
                            threads=1 if serial else 20)  # fmt: skip
    return [Check(out, expected), fine]


for _bits, _name in _OF_BITS.items():
    add("Indexing", f"index_select {_bits}", functools.partial(index_select, _bits))
    for _kernel in ("index_put", "index_put_serial"):
        add("Indexing", f"{_kernel} {_bits}",
            functools.partial(index_put, f"{_kernel}_{_bits}", _name))  # fmt: skip
for _name in ("float", "half", "bfloat", "long", "int", "short", "char", "uchar", "float2"):
    add("Indexing", f"index_put_accumulate {_name}",
        functools.partial(index_put, f"index_put_accumulate_{_name}", _name))  # fmt: skip


@recipe("Indexing")
def index_out_of_bounds(run: Runner) -> list[Check]:
    """The kernel counts the error and writes a text; the element becomes zero."""
    source, out = values("float", 9, low=1), torch.ones(4)
    at = torch.tensor([0, 8, 9, -10])
    error = error_room()
    run("index_select_32bit", out, source, struct.pack("=Q", at.data_ptr()), longs([4]), longs([4]),
        longs([0]), longs([8]), longs([9]), longs([4]), uint(1, 1, 4, 0), error, threads=[4],
        reached=[at])  # fmt: skip
    expected = torch.stack([source[0], source[8], torch.zeros(()), torch.zeros(())])
    message = bytes(error[4 + 256 : 4 + 256 + 250].tolist()).split(b"\0")[0]
    assert b"is out of bounds for dimension 0 with size 9" in message, message
    return [Check(out, expected), Check(error[:1].int(), torch.tensor([2], dtype=torch.int32))]


def index_reduce(how: str, name: str, index: str, run: Runner) -> Check:
    into = values(name, 6, 5, low=1, high=3)
    source = values(name, 8, 5, low=1, high=3)
    if into.is_floating_point():
        into, source = into.round(), source.round()
    at = torch.randint(0, 6, (8,)).to(DTYPES[index])
    padding = [0] * 14
    lists = b"".join(
        uints([*numbers, *padding])
        for numbers in (into.stride(), into.shape, source.stride(), source.shape)
    )
    expected = into.clone()
    if how == "mean":
        expected.index_add_(0, at, source)
    else:
        expected.index_reduce_(0, at, source, how)
    run(f"index_reduce_{how}_{name}_{index}", into, at, source,
        struct.pack("=2i", 2, 0) + lists + uint(1), threads=[40])  # fmt: skip
    return Check(into, expected)


for _how, _name in (("amax", "float"), ("amin", "half"), ("prod", "int"), ("mean", "bfloat"),
                    ("prod", "float"), ("amax", "uchar"), ("amin", "short")):  # fmt: skip
    add("Indexing", f"index_reduce {_how} {_name}",
        functools.partial(index_reduce, _how, _name, "long"))  # fmt: skip


@recipe("Indexing")
def kernel_index_offsets(run: Runner) -> list[Check]:
    strides, shape = torch.tensor([[4, 8, 16], [40, 80, 160]], dtype=torch.int32), [5, 4]
    narrow, wide = torch.zeros(20, 4, dtype=torch.int32), torch.zeros(20, 4, dtype=torch.int64)
    run("kernel_index_offsets_32", strides, narrow, uints(shape), uint(2), threads=[20])
    run("kernel_index_offsets_64", strides, wide, uints(shape), uint(2), threads=[20])
    inner, outer = torch.arange(20) % 5, torch.arange(20) // 5
    expected = inner[:, None] * strides[0] + outer[:, None] * strides[1]
    return [Check(narrow[:, :3], expected.int()), Check(wide[:, :3], expected)]


@recipe("Indexing")
def masked_fill(run: Runner) -> list[Check]:
    checks = []
    for bits, name in _OF_BITS.items():
        value = 7
        x, mask, row = values(name, 6, 35), torch.rand(6, 35) < 0.3, torch.rand(35) < 0.3
        dense, broadcast, strided = x.clone(), x.clone(), with_gaps(x)
        run(f"masked_fill_scalar_dense_{bits}", dense, mask, scalar(value, name), threads=[210])
        run(f"masked_fill_scalar_broadcast_{bits}", broadcast, row, scalar(value, name), uint(35),
            threads=[210])  # fmt: skip
        run(f"masked_fill_scalar_strided_{bits}", strided, mask, scalar(value, name),
            longs([35, 6]), longs(strided.stride()[::-1]), longs(mask.stride()[::-1]), uint(2),
            threads=[210])  # fmt: skip
        checks += [
            Check(dense, x.masked_fill(mask, value)),
            Check(broadcast, x.masked_fill(row, value)),
            Check(strided, x.masked_fill(mask, value)),
        ]
    return checks


def index_copy(name: str, index: str, width: str, run: Runner) -> list[Check]:
    into, source = values(name, 3, 7, 5), values(name, 3, 4, 5)
    at = torch.randperm(7)[:4].to(DTYPES[index])
    expected = into.index_copy(1, at.long(), source)
    strided = with_gaps(into)
    run(f"index_copy_dense_{name}_{index}_{width}", into, source, at, long(7), long(5), long(4),
        threads=[5, 4, 3])  # fmt: skip
    outs, sources = strided.stride(), source.stride()
    run(f"index_copy_strided_{name}_{index}_{width}", strided, source, at, long(7), long(outs[1]),
        long(sources[1]), longs([3, 5]), longs([outs[0], outs[2]]), longs([sources[0], sources[2]]),
        uint(2), long(15), long(1), threads=[60])  # fmt: skip
    return [Check(into, expected), Check(strided, expected)]


for _name, _index, _width in (("float", "int", "32"), ("half", "long", "64"),
                              ("float2", "long", "32"),
                              ("bool", "int", "64")):  # fmt: skip
    add("Indexing", f"index_copy {_name} {_index} {_width}",
        functools.partial(index_copy, _name, _index, _width))  # fmt: skip


def index_fill(name: str, run: Runner) -> list[Check]:
    x, at = values(name, 3, 7, 5), torch.tensor([2, -1, 0])
    expected = x.index_fill(1, at % 7, 1)
    dense, strided, masked, strided_masked = x.clone(), with_gaps(x), x.clone(), with_gaps(x)
    value = scalar(1, name)
    run(f"index_fill_dense_{name}", dense, at, value, long(7), long(5), long(15), threads=[45])
    outs = strided.stride()
    run(f"index_fill_strided_{name}", strided, at, value, long(7), long(outs[1]), longs([3, 5]),
        longs([outs[0], outs[2]]), uint(2), long(15), long(1), threads=[45])  # fmt: skip
    mask = torch.ones(7, dtype=torch.bool)
    run("index_fill_zero_mask", mask, threads=[7])
    run("index_fill_set_mask", mask, at, long(7), long(1), threads=[3])
    run(f"index_fill_dense_from_mask_{name}", masked, mask, value, uint(7), uint(5),
        threads=[5, 7, 3])  # fmt: skip
    run(f"index_fill_strided_from_mask_{name}", strided_masked, mask, value, longs([3, 7, 5]),
        longs(strided_masked.stride()), uint(1), uint(3), threads=[105])  # fmt: skip
    return [Check(tensor, expected) for tensor in (dense, strided, masked, strided_masked)]


for _name in ("float", "half", "bfloat", "uchar", "float2"):
    add("Indexing", f"index_fill {_name}", functools.partial(index_fill, _name))


def nonzero(name: str, shape: tuple[int, ...], run: Runner) -> list[Check]:
    """The last threadgroup is a smaller one, and its last simdgroup not full."""
    x = values(name, *shape)
    x = torch.where(torch.rand(shape) < 0.3, x, torch.zeros_like(x))
    count, blocks = x.numel(), -(-x.numel() // 1024)
    prefix = torch.zeros(count, dtype=torch.int32)
    sums, offsets, total = (torch.zeros(blocks, dtype=torch.int32) for _ in range(3))
    run(f"count_nonzero_prefix_sum_{name}", x, prefix, sums, threads=[count], group=[1024])
    run("prefix_sum_blocks", sums, offsets, total, uint(blocks), threads=[32], group=[32])
    expected = torch.nonzero(x).contiguous()
    out = torch.zeros_like(expected)
    run(f"scatter_nonzero_indices_{name}", x, prefix, out, int32(len(shape)), longs(shape), offsets,
        int32(len(expected)), threads=[count], group=[1024])  # fmt: skip
    return [
        Check(total[:1], torch.tensor([len(expected)], dtype=torch.int32)),
        Check(out, expected),
    ]


for _name in ("float", "half", "bool", "long", "float2"):
    add("Indexing", f"nonzero {_name}", functools.partial(nonzero, _name, (50, 53)))


# ---- scatter and gather


def _strided_arguments(
    index: torch.Tensor, first: torch.Tensor, second: torch.Tensor, dim_size: int
) -> list[Buffer]:
    return [
        longs(list(index.shape)[::-1]), longs(list(first.stride())[::-1]),
        longs(list(second.stride())[::-1]), longs(list(index.stride())[::-1]),
        uint(3, 1, 0), long(dim_size), long(0),
    ]  # fmt: skip


def gather(name: str, index: str, run: Runner) -> list[Check]:
    x = values(name, 3, 9, 5)
    at = torch.randint(0, 9, (3, 4, 5)).to(DTYPES[index])
    expected = torch.gather(x, 1, at.long())
    dense, error = torch.zeros_like(expected), error_room()
    run(f"gather_dense_{name}_{index}", dense, x, at, long(5), long(4), long(9), long(0), error,
        threads=[60])  # fmt: skip
    gaps, out = with_gaps(x), with_gaps(torch.zeros_like(expected))
    run(f"gather_strided_{name}_{index}", out, gaps, at, *_strided_arguments(at, out, gaps, 9),
        error, threads=[60])  # fmt: skip
    return [Check(dense, expected), Check(out, expected), no_errors(error)]


def scatter_set(name: str, index: str, run: Runner) -> list[Check]:
    into, source = values(name, 3, 9, 5), values(name, 3, 4, 5)
    at = (
        torch.stack([torch.randperm(9)[:4] for _ in range(15)], 1).reshape(4, 3, 5).permute(1, 0, 2)
    )
    at = at.contiguous().to(DTYPES[index])
    expected = into.scatter(1, at.long(), source)
    same = into.scatter(1, at.long(), 1)
    dense, value, strided, error = into.clone(), into.clone(), with_gaps(into), error_room()
    shape = [long(n) for n in (5, 4, 9, 0)]
    run(f"scatter_set_dense_{name}_{index}", dense, source, at, *shape, error, threads=[60])
    run(f"scatter_set_dense_value_{name}_{index}", value, scalar(1, name), at, *shape, error,
        threads=[60])  # fmt: skip
    run(f"scatter_set_{name}_{index}", strided, source, at,
        *_strided_arguments(at, strided, source, 9), error, threads=[60])  # fmt: skip
    return [Check(dense, expected), Check(strided, expected), Check(value, same), no_errors(error)]


def scatter_reduce(how: str, name: str, index: str, run: Runner) -> list[Check]:
    into, source = values(name, 3, 9, 5, low=1, high=3), values(name, 3, 4, 5, low=1, high=3)
    if into.is_floating_point():
        into, source = into.round(), source.round()
    at = torch.randint(0, 9, (3, 4, 5)).to(DTYPES[index])
    if how == "add":
        expected = into.scatter_add(1, at.long(), source)
    else:
        expected = into.scatter_reduce(1, at.long(), source, how)
    dense, strided, error = into.clone(), with_gaps(into), error_room()
    flips = name == "long" and how in ("amin", "amax")
    if flips:
        run("scatter_signbit_xor_long", dense, long(0), threads=[135])
    run(f"scatter_{how}_dense_{name}_{index}", dense, source, at, long(5), long(4), long(9),
        long(0), error, threads=[60])  # fmt: skip
    if flips:
        run("scatter_signbit_xor_long", dense, long(0), threads=[135])
        return [Check(dense, expected), no_errors(error)]
    run(f"scatter_{how}_strided_{name}_{index}", strided, source, at,
        *_strided_arguments(at, strided, source, 9), error, threads=[60])  # fmt: skip
    return [Check(dense, expected), Check(strided, expected), no_errors(error)]


for _name, _index in (("float", "long"), ("half", "int"), ("bool", "long"), ("float2", "int")):
    add("ScatterGather", f"gather {_name}", functools.partial(gather, _name, _index))
    add("ScatterGather", f"scatter_set {_name}", functools.partial(scatter_set, _name, _index))
for _how, _reduced in (
    ("add", ("float", "half", "bfloat", "int", "short", "char", "uchar", "long", "float2")),
    ("prod", ("float", "half", "int", "uchar")), ("amin", ("float", "short", "long")),
    ("amax", ("bfloat", "char", "long")),
):  # fmt: skip
    for _name in _reduced:
        _full = {"prod": "prod", "amin": "amin", "amax": "amax", "add": "add"}[_how]
        add("ScatterGather", f"scatter_{_how} {_name}",
            functools.partial(scatter_reduce, _full, _name, "long"))  # fmt: skip
