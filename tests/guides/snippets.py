"""A snippet of a public guide: what people type, what it prints, and what must be true after it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

# What torch itself writes: its profiler's lines, and a CUDA build's about GPUs that are not there.
_NOT_OURS = re.compile(
    r"^(?:[A-Z]+:\d{4}-\d\d-\d\d .*\] .*|W\d{4} .*No CUDA runtime is found.*)\n", re.MULTILINE
)
# In what a snippet prints: figures that differ from run to run, and text that is not ours.
_ANY = {"<number>": r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", "<any>": r".*?"}


@dataclass(frozen=True)
class Snippet:
    name: str
    program: str
    # Exactly what goes to stdout.
    prints: str = ""
    # Lines that run afterwards, with the program's variables: what it did beside printing.
    then: str = ""
    # What stderr must contain, in this order; without any, it must be empty.
    tells: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    # In a process of its own: it changes the process, or is about the whole of one.
    alone: bool = False
    exit_code: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def source(self) -> str:
        return dedent(self.program).lstrip("\n")

    @property
    def process(self) -> tuple[object, ...]:
        """Snippets of a topic with the same value share a process."""
        return (self.name,) if self.alone else tuple(sorted(self.variables.items()))


@dataclass(frozen=True)
class Outcome:
    stdout: str
    stderr: str
    exit_code: int


def assert_as_expected(snippet: Snippet, outcome: Outcome) -> None:
    shown = f"stdout:\n{outcome.stdout}\nstderr:\n{outcome.stderr}"
    assert outcome.exit_code == snippet.exit_code, shown
    expected = dedent(snippet.prints).lstrip("\n")
    assert re.fullmatch(_pattern(expected), outcome.stdout), f"expected:\n{expected}\n{shown}"
    if snippet.tells:
        told = ".*".join(_pattern(text) for text in snippet.tells)
        assert re.search(told, outcome.stderr, re.DOTALL), shown
    else:
        assert _NOT_OURS.sub("", outcome.stderr) == "", shown


def _pattern(text: str) -> str:
    parts = re.split("(" + "|".join(_ANY) + ")", text)
    return "".join(_ANY.get(part) or re.escape(part) for part in parts)
