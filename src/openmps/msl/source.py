"""Source files, places in them, and the tokens they are made of."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


class SourceFile:
    """A named text. Compared by identity: two files may have one name."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        starts += [at + 1 for at, character in enumerate(self.text) if character == "\n"]
        return starts

    def line_number(self, position: int) -> int:
        return bisect_right(self._line_starts, position)

    def place(self, position: int) -> Place:
        line = self.line_number(position)
        return Place(self, line, position - self._line_starts[line - 1] + 1)

    def line_text(self, line: int) -> str:
        start = self._line_starts[line - 1]
        return self.text[start:].partition("\n")[0].rstrip("\r")


@dataclass(frozen=True)
class Place:
    file: SourceFile
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file.name}:{self.line}:{self.column}"


class Token:
    """A piece of source. What a macro expands to carries the position of the macro's call.

    kind    id, number, string, character, operator, pragma (a whole #pragma line), or text (C++
            that the rewriter inserts)
    space   whether white space stands before it
    hidden  macros that may not expand in it any more (they are being expanded)
    """

    __slots__ = ("file", "hidden", "kind", "position", "space", "text")

    def __init__(
        self,
        kind: str,
        text: str,
        file: SourceFile,
        position: int,
        space: bool = True,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self.kind = kind
        self.text = text
        self.file = file
        self.position = position
        self.space = space
        self.hidden = hidden

    def __repr__(self) -> str:
        return f"<{self.text}>"

    @property
    def place(self) -> Place:
        return self.file.place(self.position)

    def like(self, text: str, kind: str = "text") -> Token:
        """Another text at the same place."""
        return Token(kind, text, self.file, self.position)
