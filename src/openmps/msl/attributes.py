"""`[[...]]`: folding them into one token each, and what those on kernels mean."""

from __future__ import annotations

from openmps.msl.diagnostics import refuse
from openmps.msl.source import Token


class Attribute(Token):
    """One `[[...]]`, with the tokens between the brackets."""

    __slots__ = ("inner",)

    def __init__(self, opening: Token, inner: list[Token]) -> None:
        super().__init__("attribute", "", opening.file, opening.position, opening.space)
        self.inner = inner

    def argument(self, name: str) -> list[Token] | None:
        """The tokens in `name(...)`; empty if there are no parentheses; None if it is not there."""
        inner = self.inner
        for at, token in enumerate(inner):
            if token.text != name or (at and inner[at - 1].text not in (",", "::")):
                continue
            if at + 1 >= len(inner) or inner[at + 1].text != "(":
                return []
            depth = 0
            for end in range(at + 1, len(inner)):
                depth += (inner[end].text == "(") - (inner[end].text == ")")
                if depth == 0:
                    return inner[at + 2 : end]
        return None

    def names(self) -> list[str]:
        return [
            token.text
            for at, token in enumerate(self.inner)
            if token.kind == "id" and (at == 0 or self.inner[at - 1].text == ",")
        ]


def fold_attributes(tokens: list[Token]) -> list[Token]:
    out: list[Token] = []
    at, end = 0, len(tokens)
    while at < end:
        token = tokens[at]
        if token.text != "[" or at + 1 >= end or tokens[at + 1].text != "[":
            out.append(token)
            at += 1
            continue
        depth, close = 0, at
        while close < end:
            depth += (tokens[close].text == "[") - (tokens[close].text == "]")
            if depth == 0:
                break
            close += 1
        if close >= end:
            refuse(token.place, "expected ']]'")
        if tokens[close - 1].text != "]":
            # `a[[i]{ return i; }()]`: a lambda inside a subscript.
            out.append(token)
            at += 1
            continue
        out.append(Attribute(token, tokens[at + 2 : close - 1]))
        at = close + 1
    return out


# What a thread can ask about itself. include/msl/launch/positions.h has a slot of each name.
POSITIONS = (
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threads_per_threadgroup",
    "threads_per_grid",
    "threadgroups_per_grid",
    "thread_index_in_threadgroup",
    "thread_index_in_simdgroup",
    "simdgroup_index_in_threadgroup",
    "threads_per_simdgroup",
    "simdgroups_per_threadgroup",
    "dispatch_threads_per_threadgroup",
    "dispatch_simdgroups_per_threadgroup",
    "thread_index_in_quadgroup",
    "quadgroup_index_in_threadgroup",
    "quadgroups_per_threadgroup",
    "thread_execution_width",
    "grid_origin",
    "grid_size",
    "dispatch_quadgroups_per_threadgroup",
)

# Answers that do not depend on how the grid is cut into threadgroups.
GRID_ONLY = frozenset(
    {"thread_position_in_grid", "threads_per_grid", "grid_origin", "grid_size",
     "threads_per_simdgroup", "thread_execution_width"}
)  # fmt: skip
