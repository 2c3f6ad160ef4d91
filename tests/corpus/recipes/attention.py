"""Attention, one query and many; products with quantized weights."""

from __future__ import annotations

import functools
import struct

import torch
import torch.nn.functional as F

from corpus.launching import Buffer, Runner, float32, int32, uint
from corpus.recipes import Check, add, recipe
from corpus.values import values


def _inputs(name: str, queries: int, keys: int, size: int) -> tuple[torch.Tensor, ...]:
    """Two batches; four query heads share two key heads."""
    return (
        values(name, 2, 4, queries, size), values(name, 2, 2, keys, size),
        values(name, 2, 2, keys, size),
    )  # fmt: skip


def _attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, causal: bool
) -> torch.Tensor:
    """Causal from the beginning: the first query sees one key."""
    if causal:
        mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
    elif mask is not None and mask.dtype is not torch.bool:
        mask = mask.double()
    k, v = (t.double().repeat_interleave(2, 1) for t in (k, v))
    return F.scaled_dot_product_attention(q.double(), k, v, attn_mask=mask)


def _allowed(name: str) -> float | None:
    return {"half": 4e-3, "bfloat": 3e-2}.get(name, 2e-5)


def _mask(kind: str, name: str, queries: int, keys: int) -> torch.Tensor | None:
    if kind == "bool":
        mask = torch.rand(2, 1, queries, keys) < 0.7
        mask[..., 0] = True
        return mask
    return None if kind == "none" else values(name, 2, 1, queries, keys)


def few_queries(name: str, size: int, mask: str, causal: bool, passes: int, run: Runner) -> Check:
    q, k, v = _inputs(name, 3, 150, size)
    out = torch.zeros_like(q)
    given = _mask(mask, name, 3, 150)
    strides = uint(1, 150, 0, 450) if given is not None else None
    head, row = (uint(*(t.stride(at) for t in (q, k, v))) for at in (1, 2))
    shape: list[Buffer] = [uint(2), uint(150), head, row, float32(size**-0.5)]
    ends: list[Buffer] = [given, strides, uint(*(t.stride(0) for t in (q, k, v)), 4)]
    suffix = f"{name}_{size}_{size}_mask{mask}" + ("_causal" if causal else "")
    if passes == 1:
        run(f"sdpa_vector_{suffix}", q, k, v, out, *shape, *ends, threads=[8 * 1024, 3],
            group=[1024])  # fmt: skip
    else:
        part = torch.zeros(2, 4, 3, 32, size, dtype=q.dtype)
        sums, tops = torch.zeros(2, 4, 3, 32), torch.zeros(2, 4, 3, 32)
        run(f"sdpa_vector_2pass_1_{suffix}", q, k, v, part, sums, tops, *shape, *ends,
            threads=[8 * 256, 3, 32], group=[256])  # fmt: skip
        run(f"sdpa_vector_2pass_2_{name}_{size}", part, sums, tops, out, threads=[8 * 1024, 3],
            group=[1024])  # fmt: skip
    return Check(out, _attend(q, k, v, given, causal).to(q.dtype), _allowed(name))


for _name, _mask_kind, _causal in (
    ("float", "none", False), ("float", "none", True), ("half", "bool", False),
    ("bfloat", "bfloat", False),
):  # fmt: skip
    for _passes in (1, 2):
        add("Attention", f"{_passes} pass {_name} {_mask_kind} {_causal}",
            functools.partial(few_queries, _name, 64, _mask_kind, _causal, _passes))  # fmt: skip

_LONG_NAMES = {"float": "float32", "half": "float16", "bfloat": "bfloat16"}


def many_queries(
    name: str, tile: tuple[int, int, int, int, int], mask: str, causal: bool, run: Runner
) -> Check:
    """tile: rows of queries and of keys, size of a head, simdgroups down and across."""
    rows, columns, size, down, across = tile
    queries, keys = 45, 70
    q, k, v = _inputs(name, queries, keys, size)
    out = torch.zeros_like(q)
    given = _mask(mask, name, queries, keys)
    params = struct.pack("=6i2f", 2, 4, size, queries, keys, 2, size**-0.5, 1.0)
    params += b"".join(struct.pack("=3i", *t.stride()[:3]) for t in (q, k, v, out))
    strides = int32(queries * keys, 0, keys, 1)
    of_mask = {"none": _LONG_NAMES[name], "bool": "bool_"}.get(mask, _LONG_NAMES[name])
    kernel = (
        f"prefill_attention_{_LONG_NAMES[name]}_bq{rows}_bk{columns}_bd{size}_wm{down}_wn{across}"
    )
    kernel += f"_hm{int(given is not None)}_dc{int(causal)}_mask{of_mask}"
    blocks = -(-queries // rows)
    run(kernel, q, k, v, out, params, strides, given if given is not None else uint(0),
        threads=[32 * blocks, down * 4, across * 2], group=[32, down, across])  # fmt: skip
    return Check(out, _attend(q, k, v, given, causal).to(q.dtype), _allowed(name))


for _name, _mask_kind, _causal in (
    ("float", "none", False), ("half", "bool", False), ("float", "none", True),
):  # fmt: skip
    _body = functools.partial(many_queries, _name, (32, 32, 32, 4, 1), _mask_kind, _causal)
    add("Attention", f"many queries {_name} {_mask_kind} {_causal}", _body)


# ---- quantized weights


@recipe("Quantized")
def pack_weights(run: Runner) -> Check:
    weight = torch.randint(0, 256, (40, 64), dtype=torch.uint8)
    out = torch.zeros_like(weight)
    run("weight_to_int4pack", weight, out, uint(40, 16), threads=[40, 16], group=[64])
    return Check(out, (weight << 4) | (weight >> 4))


def int4(name: str, group: int, run: Runner) -> Check:
    rows, size, columns = 3, 512, 40
    a, numbers = values(name, rows, size, low=-1, high=1), torch.randint(0, 16, (columns, size))
    packed = (numbers[:, 0::2] | (numbers[:, 1::2] << 4)).to(torch.uint8)
    scales = values(name, size // group, columns, 2, low=0.01, high=0.1)
    out = torch.zeros(rows, columns, dtype=a.dtype)
    run(f"int4pack_mm_{group}_{name}", a, packed, scales, out, uint(rows, size, columns),
        threads=[columns // 4 * 32, 1, rows], group=[64])  # fmt: skip
    scale, zero = (t.repeat_interleave(group, 0).t() for t in scales.double().unbind(2))
    expected = a.double() @ ((numbers - 8) * scale + zero).t()
    return Check(out, expected.to(a.dtype), {"half": 1e-2, "bfloat": 8e-2}.get(name, 1e-4))


def int8(kernel: str, name: str, rows: int, run: Runner) -> Check:
    size, columns = 96, 128
    a = values(name, rows, size, low=-1, high=1)
    numbers = torch.randint(-128, 128, (columns, size), dtype=torch.int8)
    scales = values(name, columns, low=0.001, high=0.01)
    out = torch.zeros(rows, columns, dtype=a.dtype)
    if kernel == "int8pack_mv":
        grid = {"threads": [-(-columns // 8) * 64, rows], "group": [64], "dynamic": {0: 32}}
    else:
        grid = {"threads": [-(-rows // 32) * 128, -(-columns // 64)], "group": [128],
                "dynamic": {0: 12288}}  # fmt: skip
    run(f"{kernel}_{name}", a, numbers, scales, out, uint(rows, size, columns), **grid)  # type: ignore[arg-type]
    expected = a.double() @ (numbers.double() * scales.double()[:, None]).t()
    return Check(out, expected.to(a.dtype), {"half": 1e-2, "bfloat": 8e-2}.get(name, 1e-4))


for _name in ("float", "half", "bfloat"):
    add("Quantized", f"int4 {_name}", functools.partial(int4, _name, 64))
    add("Quantized", f"int8 one row {_name}", functools.partial(int8, "int8pack_mv", _name, 3))
    add(
        "Quantized", f"int8 rows {_name}", functools.partial(int8, "large_m_int8pack_mm", _name, 40)
    )
