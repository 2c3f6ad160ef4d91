"""Marks the back-edges of loops, for the runtime of one fibre per thread.

Lanes that skipped a call with `continue` must not meet, one iteration later, those that still stand
at it. So each loop gets a point after its body where its lanes wait for each other. The marks are
macros (include/msl/program.h), which are empty for every other way to run.
"""

from __future__ import annotations

from openmps.msl.source import Token


def mark_back_edges(tokens: list[Token]) -> list[Token]:
    """`for (a; b; c)` gets a mark before c; `while (c)` becomes such a `for`; `do` a last mark."""
    before: dict[int, str] = {}
    instead: dict[int, str] = {}
    closing = _parentheses(tokens)
    ends_of_do: set[int] = set()
    for at, token in enumerate(tokens):
        if token.kind != "id":
            continue
        if token.text == "do":
            ends_of_do.add(_end_of_statement(tokens, at + 1, closing))
        if token.text not in ("for", "while") or at + 1 not in closing:
            continue
        opening, end = at + 1, closing[at + 1]
        if token.text == "for":
            parts = _semicolons(tokens, opening + 1, end, closing)
            if len(parts) == 2:
                empty = parts[1] + 1 == end
                before[parts[1] + 1] = "OPENMPS_BACK_EDGE" if empty else "OPENMPS_BACK_EDGE_AND"
        elif at in ends_of_do:
            before[opening + 1] = "OPENMPS_BACK_EDGE_AND"
        else:
            instead[at] = "for"
            before[opening + 1] = ";"
            before[end] = "; OPENMPS_BACK_EDGE"
    out: list[Token] = []
    for at, token in enumerate(tokens):
        if at in before:
            out.append(token.like(before[at]))
        out.append(token.like(instead[at]) if at in instead else token)
    return out


def _parentheses(tokens: list[Token]) -> dict[int, int]:
    found: dict[int, int] = {}
    open_ones: list[int] = []
    for at, token in enumerate(tokens):
        if token.text.endswith(("(", "{")):  # what the rewriter inserts may end so
            open_ones.append(at)
        elif token.text in (")", "}") and open_ones:
            found[open_ones.pop()] = at
    return found


def _semicolons(tokens: list[Token], at: int, end: int, closing: dict[int, int]) -> list[int]:
    found = []
    while at < end:
        if tokens[at].text == ";":
            found.append(at)
        at = closing.get(at, at) + 1
    return found


def _end_of_statement(tokens: list[Token], at: int, closing: dict[int, int]) -> int:
    """The index after the statement at `at`: a block, or up to a semicolon."""
    if at < len(tokens) and tokens[at].text == "{":
        return closing[at] + 1
    while at < len(tokens) and tokens[at].text != ";":
        at = closing.get(at, at) + 1
    return at + 1
