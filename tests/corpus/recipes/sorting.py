"""Sorting and top-k: in one block, in merged blocks, by radix."""

from __future__ import annotations

import functools

import torch

from corpus.launching import DTYPES, Runner, int32, long, uchar
from corpus.recipes import Check, add

ROWS = 2


def _distinct(name: str, size: int) -> torch.Tensor:
    """Rows without equal values, so that there is one right order; of both signs if possible."""
    middle = size // 2 if DTYPES[name].is_signed else 0
    rows = [torch.randperm(size) - middle for _ in range(ROWS)]
    x = torch.stack(rows)
    return (x * 0.25 if DTYPES[name].is_floating_point else x).to(DTYPES[name])


def _checks(
    x: torch.Tensor, found: torch.Tensor, at: torch.Tensor, descending: bool, first: int
) -> list[Check]:
    count = found.shape[1]
    expected, indices = torch.sort(x, dim=1, descending=descending, stable=True)
    chosen = slice(first, first + count)
    return [Check(found, expected[:, chosen]), Check(at, indices[:, chosen])]


def _room(x: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    found = torch.zeros(ROWS, count, dtype=x.dtype)
    return found, torch.zeros(ROWS, count, dtype=torch.int64)


def one_block(
    name: str, threads: int, size: int, descending: bool, top: int, run: Runner
) -> list[Check]:
    x = _distinct(name, size)
    found, at = _room(x, top or size)
    first = 1 if top else 0
    kernel = (
        f"sort_block_topk_{name}_tptg{threads}"
        if top
        else f"sort_block_{name}_tptg{threads}_stable"
    )
    more = [int32(first, top)] if top else []
    run(kernel, x, found, at, int32(size), long(1, size), uchar(descending), *more,
        threads=[threads, ROWS], group=[threads])  # fmt: skip
    return _checks(x, found, at, descending, first)


def merged_blocks(
    name: str, threads: int, size: int, descending: bool, top: int, keyed: bool, run: Runner
) -> list[Check]:
    x = _distinct(name, size)
    found, at = _room(x, top or size)
    first = 1 if top else 0
    blocks = -(-size // (4 * threads))
    between = x.dtype
    merged_as = name
    if keyed:
        between = torch.int16 if x.element_size() == 2 else torch.int32
        merged_as = "ushort" if x.element_size() == 2 else "uint"
    keys = [torch.zeros(x.shape, dtype=between) for _ in range(2)]
    places = [torch.zeros(x.shape, dtype=torch.int16) for _ in range(2)]
    grid = {"threads": [threads * blocks, ROWS], "group": [threads]}
    end = f"tptg{threads}_u16"
    sort = f"mb_sort_block_fkey_{name}_{end}" if keyed else f"mb_sort_block_{name}_{end}_stable"
    last = (
        "mb_merge_final" + ("_topk" if top else "") + ("_fkey" if keyed else "") + f"_{name}_{end}"
    )
    run(sort, x, keys[0], places[0], int32(size), long(1, size), uchar(descending), **grid)
    tiles = 2
    while tiles // 2 < blocks:
        dims = int32(size, tiles, blocks)
        if tiles >= blocks:
            more = [int32(first, top)] if top else []
            run(last, keys[0], places[0], found, at, dims, uchar(descending), *more, **grid)
        else:
            order = uchar(descending and not keyed)
            run(
                f"mb_merge_{merged_as}_{end}",
                keys[0],
                places[0],
                keys[1],
                places[1],
                dims,
                order,
                **grid,
            )
        keys.reverse()
        places.reverse()
        tiles *= 2
    return _checks(x, found, at, descending, first)


def by_radix(
    name: str, size: int, how: str, descending: bool, top: int, run: Runner
) -> list[Check]:
    """how: "" counts, scans and scatters; "fused" scans while scattering; "count_scan" while
    counting."""
    x = _distinct(name, size)
    found, at = _room(x, top or size)
    first = 1 if top else 0
    bits = 4 if x.element_size() == 1 else 8
    small = "" if x.element_size() != 2 or how == "count_scan" else "_tptg512"
    threads = 1024 if x.element_size() == 2 and not small else 512
    blocks = -(-size // (threads * (8 if x.element_size() == 1 else 4)))
    entries = (1 << bits) * blocks
    keys = [torch.zeros_like(x) for _ in range(2)]
    places = [torch.zeros(x.shape, dtype=torch.int16) for _ in range(2)]
    histograms = torch.zeros(ROWS, entries, dtype=torch.int32)
    whole = {"threads": [threads * blocks, ROWS], "group": [threads]}
    passes = 8 * x.element_size() // bits
    source = x
    for number in range(passes):
        dims, order = int32(size, blocks, number * bits), uchar(descending)
        if how == "count_scan":
            run(f"radix_count_scan_{name}_{bits}bit_mb4", source, histograms, dims, order,
                threads=[threads, ROWS], group=[threads])  # fmt: skip
        else:
            run(f"radix_count_{name}_{bits}bit{small}", source, histograms, dims, order, **whole)
            if how != "fused":
                run("radix_scan", histograms, int32(entries), threads=[1024, ROWS], group=[1024])
        last = number == passes - 1
        kernel = "radix_scatter_" + ("fused_" if how == "fused" else "")
        kernel += ("final_" + ("topk_" if top else "")) if last else ""
        kernel += f"{name}_{bits}bit{small}_u16"
        outs = (found, at) if last else (keys[1], places[1])
        more = [int32(first, top)] if top and last else []
        run(kernel, source, places[0], *outs, histograms, dims, uchar(descending, number == 0),
            *more, **whole)  # fmt: skip
        keys.reverse()
        places.reverse()
        source = keys[0]
    return _checks(x, found, at, descending, first)


def _add(title: str, body: object, *arguments: object) -> None:
    words = " ".join(str(argument) for argument in arguments)
    add("Sort", f"{title} {words}", functools.partial(body, *arguments))  # type: ignore[operator]


for _name in ("float", "half", "int", "long", "bfloat"):
    _size = 250 if _name == "bfloat" else 1000
    _add("one block", one_block, _name, 256, _size, False, 0)
_add("one block", one_block, "float", 32, 100, True, 0)
_add("one block", one_block, "float", 128, 500, True, 7)
_add("one block", one_block, "uchar", 64, 200, False, 7)
for _top in (0, 9):
    _add("merged blocks", merged_blocks, "float", 64, 1000, False, _top, False)
    _add("merged blocks", merged_blocks, "long", 128, 1500, True, _top, False)
    _add("merged blocks", merged_blocks, "float", 256, 3000, True, _top, True)
    _add("merged blocks", merged_blocks, "half", 256, 1900, False, _top, True)
for _name, _size, _how in (
    ("short", 5000, ""), ("short", 5000, "count_scan"), ("half", 2040, "fused"),
    ("int", 5000, ""), ("float", 3000, "count_scan"), ("uchar", 256, "fused"),
):  # fmt: skip
    _add("radix", by_radix, _name, _size, _how, False, 0)
    _add("radix", by_radix, _name, _size, _how, True, 5)
