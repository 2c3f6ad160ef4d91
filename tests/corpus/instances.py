"""Which of a file's host names to compile: each function with each combination of types, once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from openmps.msl.kernels import Kernel

_TYPE = re.compile(
    r"(?:bool|void|bfloat|complex|packed_)\w*|(?:u?char|u?short|u?int|u?long|half|float)[234]?"
    r"|u?int(?:8|16|32|64)_t|float(?:16|32|64)_t|size_t|unsigned|signed"
)


def types_and_others(kernel: Kernel) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Its template arguments: the types, and those that are anything else (functors, sizes)."""
    inside = kernel.expression.partition("<")[2].rpartition(">")[0]
    types, others = [], []
    for argument in inside.split(","):
        word = argument.strip()
        (types if _TYPE.fullmatch(word) else others).append(word)
    return tuple(types), tuple(others)


def representatives(kernels: Iterable[Kernel], most_per_function: int) -> list[str]:
    """Host names, in order. Of those that differ in functors and sizes only, the one whose others
    were taken least often: so each functor comes up somewhere."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Kernel]] = {}
    for kernel in kernels:
        types, _ = types_and_others(kernel)
        groups.setdefault((kernel.function, kernel.signature, types), []).append(kernel)
    taken: Counter[str] = Counter()
    per_function: Counter[str] = Counter()
    chosen = []
    for (function, _, _), members in groups.items():
        if per_function[function] >= most_per_function:
            continue
        per_function[function] += 1
        best = min(members, key=lambda kernel: sum(taken[w] for w in types_and_others(kernel)[1]))
        taken.update(types_and_others(best)[1])
        chosen.append(best.name)
    return chosen
