"""Damages shader sources, token by token, from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\s+|[A-Za-z_]\w*|\.?\d[\w.]*|\"[^\"\n]*\"|\[\[|\]\]|::|<<|>>|->|##|.",
    re.S,
)
ODD = (
    "@", "`", "$", "\\", "#", "##", "'", '"', "\0", "\x07", "\r", "\f", "\ufeff", "\u00e9",
    "\u2028", "\U0001f600", "??/", "%:", "<:", "/*", "*/", "//", "R\"(", "0x", "1e", "1.0.0",
    "9999999999999999999999", "'''", "0b2", "1_a", "...", "<=>", "->*", ".*",
)  # fmt: skip
WORDS = (
    "kernel", "[[kernel]]", "device", "constant", "threadgroup", "thread", "template", "template <",
    "typename", "struct", "union", "class", "enum", "namespace", "using", "typedef", "operator",
    "static", "constexpr", "const", "volatile", "inline", "auto", "decltype(", "sizeof", "return",
    "break", "continue", "goto", "case", "default", "switch", "if", "else", "for", "while", "do",
    "new", "delete", "throw", "try", "virtual", "asm(\"\")", "__asm__", "extern", "friend",
    "[[buffer(0)]]", "[[buffer(", "[[thread_position_in_grid]]", "[[function_constant(0)]]",
    "[[host_name(\"x\")]]", "[[", "]]", "float4", "half", "bfloat", "simdgroup_float8x8",
    "texture2d<float>", "double", "long double", "__int128", "metal::", "::", "msl::", "openmps_",
    "simd_sum(", "threadgroup_barrier(mem_flags::mem_none);", "atomic_uint", "nullptr", "this",
    "\n#if 1\n", "\n#else\n", "\n#endif\n", "\n#define X(a, ...) a ## __VA_ARGS__\n", "X(1, 2)",
    "\n#include <metal_stdlib>\n", "\n#include __FILE__\n", "\n#include \"/etc/passwd\"\n",
    "\n#pragma unroll\n", "\n#error no\n", "\n#line 7\n", "_Pragma(\"unroll\")", "__LINE__",
    "__COUNTER__", "defined", "import", "module", "co_await", "requires", "concept",
)  # fmt: skip
TYPES = (
    "float", "int", "uint", "half", "bfloat", "ushort", "char", "long", "bool", "float2", "float3",
    "float4", "int4", "half2", "uint3", "packed_float3", "float4x4", "simdgroup_float8x8", "void",
    "atomic_uint", "auto", "size_t", "ulong4",
)  # fmt: skip
OPERATORS = (
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "=", "<", ">", "!", "~", "?", ":", ",",
    ".", "->", "::", "&&", "==",
)  # fmt: skip
PAIRS = (("(", ")"), ("{", "}"), ("[", "]"), ("<", ">"), ("[[", "]]"), ("if (true) {", "}"),
         ("template <typename Q", ">"), ("namespace n {", "}"), ("struct S {", "};"),
         ("[&] {", "}"), ("do {", "} while (0);"), ("(", ""), ("{", ""), ("", ")"), ("", "}"),
)  # fmt: skip
NUMBERS = ("0", "-1", "1", "31", "32", "33", "1000000", "2147483648", "0xffffffffffffffff", "1e39",
           "1e-50", "07", "08", "1.5h", "3h", "0.0", "'a'", "1u", "2ul", "100000000000000000000",
)  # fmt: skip


def tokens_of(source: str) -> list[str]:
    return _TOKEN.findall(source)


def mutated(sources: Sequence[str], seed: int) -> str:
    chance = random.Random(seed)
    pieces = tokens_of(chance.choice(sources))
    others = tokens_of(chance.choice(sources))
    # Most that is cut anywhere falls at the first bracket: rather change what stays balanced.
    ways = _GENTLE if chance.random() < 0.7 else _ROUGH
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 6))):
        if not pieces:
            break
        chance.choice(ways)(pieces, others, chance)
    return "".join(pieces)


def _place(pieces: list[str], chance: random.Random) -> int:
    """Somewhere; rather not at white space."""
    at = chance.randrange(len(pieces))
    return at if pieces[at].strip() else chance.randrange(len(pieces))


def _delete(pieces: list[str], others: list[str], chance: random.Random) -> None:
    at = _place(pieces, chance)
    del pieces[at : at + chance.choice((1, 1, 1, 2, 4))]


def _duplicate(pieces: list[str], others: list[str], chance: random.Random) -> None:
    at, count = _place(pieces, chance), chance.choice((1, 1, 3, 12, 60))
    pieces[at:at] = [*pieces[at : at + count], " "]


def _swap(pieces: list[str], others: list[str], chance: random.Random) -> None:
    a, b = _place(pieces, chance), _place(pieces, chance)
    pieces[a], pieces[b] = pieces[b], pieces[a]


def _replace(pieces: list[str], others: list[str], chance: random.Random) -> None:
    source = others if chance.random() < 0.6 else WORDS
    pieces[_place(pieces, chance)] = chance.choice(source)


def _number(pieces: list[str], others: list[str], chance: random.Random) -> None:
    numbers = [at for at, piece in enumerate(pieces) if piece[:1].isdigit()]
    if numbers:
        pieces[chance.choice(numbers)] = chance.choice(NUMBERS)


def _cut(pieces: list[str], others: list[str], chance: random.Random) -> None:
    at = _place(pieces, chance)
    if chance.random() < 0.5:
        del pieces[at:]
    else:
        del pieces[at : at + chance.randint(2, 40)]


def _graft(pieces: list[str], others: list[str], chance: random.Random) -> None:
    if others:
        start = chance.randrange(len(others))
        at = _place(pieces, chance)
        pieces[at:at] = [" ", *others[start : start + chance.randint(1, 30)], " "]


def _nest(pieces: list[str], others: list[str], chance: random.Random) -> None:
    opening, closing = chance.choice(PAIRS)
    times = chance.choice((1, 1, 2, 3, 40, 250, 3000))
    at = _place(pieces, chance)
    end = min(len(pieces), at + chance.randint(0, 20))
    pieces[at:end] = [(opening + " ") * times, *pieces[at:end], (" " + closing) * times]


def _odd(pieces: list[str], others: list[str], chance: random.Random) -> None:
    pieces.insert(_place(pieces, chance), chance.choice(ODD))


def _word(pieces: list[str], others: list[str], chance: random.Random) -> None:
    pieces.insert(_place(pieces, chance), f" {chance.choice(WORDS)} ")


def _kind(piece: str) -> str:
    if piece[0].isalpha() or piece[0] == "_":
        return "type" if piece in TYPES else "word"
    if piece[0].isdigit():
        return "number"
    return "operator" if piece in OPERATORS else ""


def _alike(pieces: list[str], others: list[str], chance: random.Random) -> None:
    """A word for a word, a type for a type, an operator for an operator."""
    kind = chance.choice(("word", "word", "type", "number", "operator"))
    places = [at for at, piece in enumerate(pieces) if _kind(piece) == kind]
    pool = {"type": TYPES, "number": NUMBERS, "operator": OPERATORS}.get(kind)
    pool = pool or [p for p in (others if chance.random() < 0.3 else pieces) if _kind(p) == kind]
    if places and pool:
        pieces[chance.choice(places)] = chance.choice(pool)


def _statement(pieces: list[str], chance: random.Random) -> tuple[int, int]:
    """A range between two semicolons that has its brackets paired, or nothing."""
    ends = [at for at, piece in enumerate(pieces) if piece in (";", "{", "}")]
    if len(ends) < 2:
        return 0, 0
    which = chance.randrange(len(ends) - 1)
    begin, end = ends[which] + 1, ends[which + 1] + 1
    text = "".join(pieces[begin:end])
    paired = all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))
    return (begin, end) if paired else (0, 0)


def _drop_statement(pieces: list[str], others: list[str], chance: random.Random) -> None:
    begin, end = _statement(pieces, chance)
    del pieces[begin:end]


def _move_statement(pieces: list[str], others: list[str], chance: random.Random) -> None:
    begin, end = _statement(pieces, chance)
    _, after = _statement(pieces, chance)
    pieces[after:after] = pieces[begin:end]


def _borrow_statement(pieces: list[str], others: list[str], chance: random.Random) -> None:
    begin, end = _statement(others, chance)
    _, after = _statement(pieces, chance)
    pieces[after:after] = others[begin:end]


def _argument(pieces: list[str], others: list[str], chance: random.Random) -> None:
    """One more or one less between brackets."""
    commas = [at for at, piece in enumerate(pieces) if piece == ","]
    if commas:
        at = chance.choice(commas)
        if chance.random() < 0.5:
            pieces[at] = f", {chance.choice(pieces)},"
        else:
            del pieces[at : at + 3]


_Way = Callable[[list[str], list[str], random.Random], None]
_GENTLE: tuple[_Way, ...] = (
    _alike, _alike, _alike, _drop_statement, _move_statement, _borrow_statement, _argument, _number,
)  # fmt: skip
_ROUGH: tuple[_Way, ...] = (
    _delete, _delete, _duplicate, _swap, _replace, _replace, _replace, _number, _cut, _graft, _nest,
    _odd, _word, _word,
)  # fmt: skip
