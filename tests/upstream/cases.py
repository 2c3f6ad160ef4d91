"""A case of the suite: its name taken apart, and which cases were asked for."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

_DTYPES = r"bool|u?int(?:8|16|32|64)|float(?:16|32|64)|bfloat16|complex(?:32|64|128)|float8_\w+"
_GENERIC = re.compile(rf"(?P<head>\w+)_mps(?:_(?P<dtype>{_DTYPES}))?")
_TRAILING_DTYPE = re.compile(rf"\w+?_(?:torch_)?(?P<dtype>{_DTYPES})")


@dataclass(frozen=True)
class Case:
    """name: "TestClass.test_method". op and dtype: "" where the name does not tell."""

    name: str
    op: str = ""
    dtype: str = ""

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]


def describe(name: str, ops: Collection[str]) -> Case:
    """`ops`: the names that PyTorch's operator database forms test names from."""
    method = name.partition(".")[2]
    generic = _GENERIC.fullmatch(method)
    if generic is None:
        trailing = _TRAILING_DTYPE.fullmatch(method)
        return Case(name, dtype=trailing["dtype"] if trailing else "")
    words = generic["head"].split("_")
    # Longest first: "sum" is also the end of "masked_sum".
    endings = ("_".join(words[at:]) for at in range(1, len(words)))
    op = next((ending for ending in endings if ending in ops), "")
    return Case(name, op, generic["dtype"] or "")


def select(cases: Iterable[Case], patterns: Sequence[str], every: int = 1) -> list[Case]:
    """As unittest's -k: any pattern, as a part of the name, or as a glob of the whole name.
    `every`: of each class the first, and then each so-many-th."""
    matching = [case for case in cases if not patterns or _matches(case.name, patterns)]
    seen: dict[str, int] = {}
    chosen = []
    for case in matching:
        number = seen.get(case.group, 0)
        seen[case.group] = number + 1
        if number % every == 0:
            chosen.append(case)
    return chosen


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(
        fnmatch.fnmatchcase(name, pattern) if "*" in pattern else pattern in name
        for pattern in patterns
    )
