"""Embeddings' gradients and bags of embeddings."""

from __future__ import annotations

import functools
import struct

import torch

from corpus.launching import DTYPES, Runner, uints
from corpus.recipes import Check, add
from corpus.recipes.images import loose
from corpus.recipes.indexing import error_room, no_errors
from corpus.values import values

aten = torch.ops.aten
_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding_backward(name: str, index: str, width: str, by_frequency: bool, run: Runner) -> Check:
    at = torch.randint(0, 9, (4, 6)).to(DTYPES[index])
    gradient = values(name, 4, 6, 7)
    padding = [0] * 14
    params = b"".join(
        uints([*numbers, *padding]) for numbers in ((4, 6), gradient.stride()[:2], at.stride())
    )
    params += struct.pack("=3I4xq?7x", gradient.stride()[2], 2, 7, 2, by_frequency)
    counts, into = torch.zeros(9, dtype=torch.int32), torch.zeros(9, 7)
    if by_frequency:
        run(f"embedding_dense_backward_count_{index}_{width}", at, counts, params, threads=[24])
    run(f"embedding_dense_backward_{name}_{index}_{width}", gradient, at, counts, into, params,
        threads=[24 * 7])  # fmt: skip
    expected = aten.embedding_dense_backward(gradient.double(), at.long(), 9, 2, by_frequency)
    return Check(into, expected.float())


for _name, _index, _width, _frequency in (
    ("float", "int", "32", True), ("half", "long", "64", False), ("bfloat", "long", "32", True),
):  # fmt: skip
    add("Embedding", f"embedding_backward {_name} {_index}",
        functools.partial(embedding_backward, _name, _index, _width, _frequency))  # fmt: skip


def embedding_bag(mode: str, name: str, index: str, weighted: bool, run: Runner) -> list[Check]:
    weight = values(name, 9, 7)
    at = torch.randint(0, 9, (14,)).to(DTYPES[index])
    offsets = torch.tensor([0, 3, 3, 8]).to(DTYPES[index])
    each = values(name, 14) if weighted else torch.ones(14, dtype=weight.dtype)
    expected, bag_of, sizes, best = aten._embedding_bag(
        weight.double(), at.long(), offsets.long(), False, _MODES[mode], False,
        each.double() if weighted else None, False, 2,
    )  # fmt: skip
    out, found = torch.zeros(4, 7, dtype=weight.dtype), torch.zeros(4, 7).to(at.dtype)
    bags, counted = torch.zeros(14).to(at.dtype), torch.zeros(4).to(at.dtype)
    params = uints([*weight.stride(), *out.stride(), *found.stride()])
    params += struct.pack("=?3x5Ii4xq", weighted, 1, 14, 4, 7, 9, _MODES[mode], 2)
    error = error_room()
    run(f"embedding_bag_{name}_{index}", weight, at, offsets, each, out, bags, counted, found,
        params, error, threads=[28])  # fmt: skip
    checks = [Check(out, expected.to(out.dtype), loose(name)), no_errors(error)]
    if mode != "max":
        checks.append(
            Check(
                bags,
                torch.repeat_interleave(torch.tensor([0, 2, 3]), torch.tensor([3, 5, 6])).to(
                    at.dtype
                ),
            )
        )
    gradient, into = values(name, 4, 7), torch.zeros_like(weight)
    params = uints([*into.stride(), *gradient.stride(), *found.stride()])
    params += struct.pack("=?3x2Iiq", weighted, 1, 7, _MODES[mode], 2)
    threads = 28 if mode == "max" else 14 * 7
    bag_of = torch.repeat_interleave(torch.tensor([0, 2, 3]), torch.tensor([3, 5, 6]))
    run(f"embedding_bag_backward_{name}_{index}", gradient, at, bag_of.to(at.dtype), counted, found,
        each, into, params, threads=[threads])  # fmt: skip
    back = aten._embedding_bag_dense_backward(
        gradient.double(), at.long(), bag_of, sizes, best, 9, False, _MODES[mode],
        each.double() if weighted else None, 2,
    )  # fmt: skip
    checks.append(Check(into, back.to(into.dtype), loose(name)))
    if mode == "sum" and weighted:
        by_weights = torch.zeros(14, dtype=weight.dtype)
        params = uints([*gradient.stride(), *weight.stride()]) + struct.pack("=2Iq", 1, 7, 2)
        run(f"embedding_bag_per_sample_weights_backward_{name}_{index}", gradient, weight, at,
            bag_of.to(at.dtype), by_weights, params, threads=[14 * 7])  # fmt: skip
        wanted = aten._embedding_bag_per_sample_weights_backward(
            gradient.double(), weight.double(), at.long(), offsets.long(), bag_of, 0, 2
        )
        checks.append(Check(by_weights, wanted.to(weight.dtype), loose(name)))
    return checks


for _name, _index in (("float", "int"), ("half", "long"), ("bfloat", "long")):
    for _mode in _MODES:
        add("EmbeddingBag", f"embedding_bag {_mode} {_name}",
            functools.partial(embedding_bag, _mode, _name, _index, _mode == "sum"))  # fmt: skip
