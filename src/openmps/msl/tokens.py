"""Walking over tokens: partners of brackets, template angle brackets, lists."""

from __future__ import annotations

from openmps.msl.diagnostics import refuse
from openmps.msl.source import Token

_CLOSING = {"(": ")", "[": "]", "{": "}"}
DEEPEST_NESTING = 200


def partners(tokens: list[Token]) -> dict[int, int]:
    """For each opening bracket, the index of its closing one. Refuses what does not match."""
    found: dict[int, int] = {}
    open_ones: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind != "operator":
            continue
        text = token.text
        if text in _CLOSING:
            open_ones.append(at)
            if len(open_ones) > DEEPEST_NESTING:
                refuse(token.place, "brackets nested too deeply")
        elif text in (")", "]", "}"):
            if not open_ones:
                refuse(token.place, f"extraneous closing '{text}'")
            opening = open_ones.pop()
            expected = _CLOSING[tokens[opening].text]
            if text != expected:
                refuse(token.place, f"expected '{expected}'")
            found[opening] = at
    if open_ones:
        opening = open_ones[-1]
        refuse(tokens[opening].place, f"this '{tokens[opening].text}' is never closed")
    return found


def closing_angle(
    tokens: list[Token], opening: int, end: int, partner: dict[int, int]
) -> int | None:
    """The index of the `>` (or `>>`) that closes the `<` at `opening`, if it is a template's."""
    depth, at = 0, opening
    while at < end:
        text = tokens[at].text
        if tokens[at].kind == "operator":
            if text == "<":
                # After `)` or a number it compares: `sizeof(T) < 8`.
                depth += at == opening or tokens[at - 1].kind == "id"
            elif text == ">":
                depth -= 1
            elif text == ">>":
                depth -= 2
            elif text in ("(", "["):
                at = partner[at]
            elif text in (";", "{", "}"):
                return None
            if depth <= 0:
                return at
        at += 1
    return None


def split_list(
    tokens: list[Token], begin: int, end: int, partner: dict[int, int]
) -> list[tuple[int, int]]:
    """The ranges between top-level commas. Nothing at all gives no range."""
    parts: list[tuple[int, int]] = []
    start = at = begin
    while at < end:
        text = tokens[at].text
        if tokens[at].kind == "operator":
            if text in _CLOSING:
                at = partner[at]
            elif text == "<" and at > begin and tokens[at - 1].kind == "id":
                close = closing_angle(tokens, at, end, partner)
                if close is not None:
                    at = close
            elif text == ",":
                parts.append((start, at))
                start = at + 1
        at += 1
    if end > begin:
        parts.append((start, end))
    return parts
