"""Variables in threadgroup memory: `threadgroup T x[N];` becomes storage of the threadgroup."""

from __future__ import annotations

from collections.abc import Iterator

from openmps.msl.declarations import DeclarationReader
from openmps.msl.rewrite import ADDRESS_SPACES, Rewriter
from openmps.msl.source import Token
from openmps.msl.tokens import closing_angle

_BEFORE_STORAGE = frozenset({"static", "volatile", "alignas", "const"})


def threadgroup_variables(
    reader: DeclarationReader, begin: int, end: int
) -> Iterator[tuple[int, int, list[Token]]]:
    """The statements of a body that declare some: where each begins and ends, and its C++."""
    at = begin
    while at < end:
        token = reader.tokens[at]
        if (
            token.kind == "id"
            and token.text == "threadgroup"
            and (start := _statement_start(reader, at, begin)) is not None
        ):
            stop = reader.semicolon(at, end)
            storage = _storage(reader, at, stop)
            if storage is not None:
                yield start, stop, storage
                at = stop
                continue
        at += 1


def _statement_start(reader: DeclarationReader, at: int, begin: int) -> int | None:
    """Where the statement begins whose specifiers reach up to `at`; None if inside one."""
    start = at
    while start > begin:
        before = reader.tokens[start - 1]
        if before.kind in ("attribute",) or before.text in _BEFORE_STORAGE:
            start -= 1
        elif before.text == ")" and reader.text(reader.opening[start - 1] - 1) == "alignas":
            start = reader.opening[start - 1] - 1
        else:
            break
    before = reader.tokens[start - 1]
    # A label or `case 0:` may stand before it.
    starts = before.kind == "pragma" or before.text in (";", "{", "}", ":")
    return start if starts else None


def _storage(reader: DeclarationReader, at: int, stop: int) -> list[Token] | None:
    """C++ for `threadgroup T x[N], y;`, or None if this declares a pointer or reference."""
    tokens = reader.tokens
    position = at + 1
    name = -1
    while position < stop - 1:
        text = tokens[position].text
        if tokens[position].kind == "id":
            name = position
        elif text == "<":
            close = closing_angle(tokens, position, stop, reader.partner)
            if close is None:
                return None
            position = close
        elif text in ("*", "&", "&&"):
            return None
        elif text in ("[", "{", "=", ",", "("):
            break
        position += 1
    if name <= at + 1 and not (name > at):
        return None
    kept_type = [
        t
        for t in tokens[at + 1 : name]
        if t.kind != "attribute"
        and t.text not in ("const", "volatile", "static")
        and t.text not in ADDRESS_SPACES
    ]
    if not kept_type:
        return None
    out: list[Token] = []
    position = name
    while position < stop - 1:
        declared = tokens[position]
        if declared.kind != "id":
            return None
        end = position + 1
        while reader.text(end) == "[":
            end = reader.partner[end] + 1
        bounds = (position + 1, end)
        # Metal ignores initialisers here.
        while end < stop - 1 and reader.text(end) != ",":
            end = reader.partner.get(end, end) + 1
        out += _storage_tokens(reader, declared, kept_type, bounds)
        position = end + 1
    return out


def _storage_tokens(
    reader: DeclarationReader, name: Token, type_tokens: list[Token], bounds: tuple[int, int]
) -> list[Token]:
    rewriter = Rewriter(frozenset(), {})
    of_type = [*type_tokens, *reader.tokens[bounds[0] : bounds[1]]]
    storage = f"openmps_storage_of_{name.text}"
    return [
        name.like("OPENMPS_SHARED openmps_threadgroup<"),
        *rewriter.rewrite(of_type),
        name.like(f"> {storage}; auto& {name.text} = {storage}.object();"),
    ]
