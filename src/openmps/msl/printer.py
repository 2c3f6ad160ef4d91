"""Tokens to text that a C++ compiler reads, and the way back from its columns to the shader's."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from openmps.msl.source import Place, SourceFile, Token

WIDEST_LINE = 4000


@dataclass
class PrintedText:
    """`lines[n]` was printed from `tokens[n]`, which begin at `columns[n]`."""

    lines: list[str] = field(default_factory=list)
    columns: list[list[int]] = field(default_factory=list)
    tokens: list[list[Token]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def token_at(self, line: int, column: int) -> Token | None:
        """What was printed at a line and column, both from 1."""
        if not 1 <= line <= len(self.lines) or not self.tokens[line - 1]:
            return None
        at = bisect_right(self.columns[line - 1], column - 1) - 1
        return self.tokens[line - 1][max(at, 0)]

    def place_at(self, line: int, column: int) -> Place | None:
        token = self.token_at(line, column)
        return token.place if token else None


def print_tokens(tokens: list[Token]) -> PrintedText:
    out = PrintedText()
    parts: list[str] = []
    columns: list[int] = []
    printed: list[Token] = []
    width = 0
    file: SourceFile | None = None
    line_of_file = -1
    previous: Token | None = None

    def flush() -> None:
        nonlocal parts, columns, printed, width
        if parts:
            out.lines.append("".join(parts))
            out.columns.append(columns)
            out.tokens.append(printed)
        parts, columns, printed, width = [], [], [], 0

    for token in tokens:
        if previous is None or token.position != previous.position or token.file is not file:
            number = token.file.line_number(token.position)
            if number != line_of_file or token.file is not file:
                flush()
                line_of_file, file = number, token.file
        if token.kind == "pragma" or (previous is not None and previous.kind == "pragma"):
            flush()
        text = token.text
        touching = (
            previous is not None
            and not token.space
            and token.file is previous.file
            and token.position == previous.position + len(previous.text)
        )
        if parts and not touching:
            parts.append(" ")
            width += 1
        columns.append(width)
        printed.append(token)
        parts.append(text)
        width += len(text)
        previous = token
        if width > WIDEST_LINE:
            flush()
    flush()
    return out
