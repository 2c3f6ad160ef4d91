"""Marks sums, differences and products: those of signed integers wrap, on every engine.

The CPU's compilers are told so by -fwrapv, and the marks are empty for them. NVRTC has no such
option; for it they are macros (include/msl/types/wrapping.h) that compute without a sign.

Two places keep the rule of C++, that nothing overflows, because the speed of kernels depends on it
and an overflow there is lost anyway: an index of plain arithmetic, `x[i * n + 1]`, and the sum in
the step of a `for`. No type is known here. What may be a declarator or a cast is left alone, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from openmps.msl.rewrite import ends_template_id
from openmps.msl.source import Token
from openmps.msl.tokens import closing_angle

_BINARY = frozenset({"+", "-", "*"})
_UPDATES = frozenset({"+=", "-=", "*="})
_STEPS = {"++": "INCREMENT", "--": "DECREMENT"}
_NO_VALUES = frozenset(
    {"return", "case", "else", "do", "throw", "new", "delete", "operator", "const", "volatile",
     "constexpr", "static", "__restrict", "typename", "template", "goto", "and", "or", "not"}
)  # fmt: skip
_BEFORE_STATEMENT = frozenset({"if", "while", "for", "switch", "constexpr"})
_NAMES_TYPE = frozenset({"struct", "class", "union", "enum", "typename", "using"})
_METAL_TYPE = re.compile(
    r"(packed_)?(bool|u?char|u?short|u?int|u?long|float|half|bfloat)([234](x[234])?)?"
    r"|atomic_(u?int|ulong|float|bool)|simdgroup_(float|half|bfloat)8x8"
    r"|(s?size|ptrdiff|u?intptr|u?int(8|16|32|64))_t|auto|void|unsigned|signed"
)
_FLOAT = re.compile(r"[\d.]+(e[+-]?\d+)?f", re.I)
_OF_INDEX = frozenset({"+", "-", "*", "(", ")", ".", "->", "::"})


def mark_wrapping(tokens: list[Token]) -> list[Token]:
    """`a + b` becomes `a + OPENMPS_WRAP(+) b`, `a += b` becomes `a += OPENMPS_WRAP(=) b`, and
    `-a`, `++a`, `a++` become macros around a."""
    return _Marker(tokens).marked()


class _Marker:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.closing = _partners(tokens)
        self.opening = {close: at for at, close in self.closing.items()}
        self.types = _declared_types(tokens)
        self.before: dict[int, list[Token]] = {}
        self.after: dict[int, list[Token]] = {}
        self.instead: dict[int, str] = {}

    def marked(self) -> list[Token]:
        untouched = set(self._untouched())
        for at, token in enumerate(self.tokens):
            if token.kind == "operator" and at not in untouched:
                self._mark(at, token.text)
        out: list[Token] = []
        for at, token in enumerate(self.tokens):
            out += self.before.get(at, ())
            out.append(token.like(self.instead[at]) if at in self.instead else token)
            out += self.after.get(at, ())
        return out

    def _mark(self, at: int, text: str) -> None:
        if text in _BINARY and self._is_value(at - 1, text):
            floats = _FLOAT.fullmatch(self.text(at - 1)) or _FLOAT.fullmatch(self.text(at + 1))
            if self._begins_value(at + 1, text) and not floats:
                self.instead[at] = f"{text} OPENMPS_WRAP({text})"
        elif text in _UPDATES and self.text(at - 1) != "operator" and self.text(at + 1) != "{":
            self.instead[at] = f"{text} OPENMPS_WRAP(=)"
        elif text == "-" or text in _STEPS:
            self._mark_around(at, text)

    def _mark_around(self, at: int, text: str) -> None:
        """A compiler's complaint about the macro is one about the operator: it lies there."""
        token = self.tokens[at]
        if text != "-" and self._is_value(at - 1, text):
            first = self._operand_before(at - 1)
            if first >= 0:
                name = f"OPENMPS_{_STEPS[text]}_AFTER("
                self.before.setdefault(first, []).append(token.like(name))
                self.instead[at] = ")"
        elif self._is_no_value(at - 1):
            last = self._operand_after(at + 1)
            if last >= 0:
                name = "NEGATIVE" if text == "-" else _STEPS[text]
                self.instead[at] = f"OPENMPS_{name}("
                self.after.setdefault(last, []).append(token.like(")"))

    # ---- what lies around an operator

    def text(self, at: int) -> str:
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def kind(self, at: int) -> str:
        return self.tokens[at].kind if 0 <= at < len(self.tokens) else ""

    def _is_value(self, at: int, operator: str) -> bool:
        """Whether a value ends at `at`, so that the operator behind it has a left side."""
        kind, text = self.kind(at), self.text(at)
        if kind == "id":
            return text not in _NO_VALUES and (operator != "*" or not self._is_type(at))
        if text == ")":
            return not self._is_cast_or_head(at)
        if text in _STEPS:
            return self._is_value(at - 1, text)
        return kind in ("number", "character") or text == "]" or text.endswith(")")

    def _is_no_value(self, at: int) -> bool:
        """Whether none ends at `at`. What both questions deny is left alone."""
        kind, text = self.kind(at), self.text(at)
        if kind == "id":
            return text in _NO_VALUES and text != "operator"
        if text == ")":
            return self._is_cast_or_head(at)
        if text == ">":
            return not ends_template_id(self.tokens, at)
        if kind == "text":
            return text.endswith(("(", "/", "%", "="))
        return kind == "operator" and text not in ("]", "}", ">>", *_STEPS)

    def _begins_value(self, at: int, operator: str) -> bool:
        kind, text = self.kind(at), self.text(at)
        if operator == "*" and text in ("const", "volatile", "__restrict"):
            return False
        return kind in ("id", "number", "character", "text") or text in ("(", "-", "+", "!", "~")

    def _is_type(self, at: int) -> bool:
        if _METAL_TYPE.fullmatch(self.text(at)) or self.text(at) in self.types:
            return True
        while self.text(at - 1) == "::":
            at -= 2
        return self.text(at - 1) in ("typename", "const", "volatile")

    def _is_cast_or_head(self, close: int) -> bool:
        opening = self.opening.get(close, -1)
        before = opening - 1
        if self.text(before) in (*_BEFORE_STATEMENT, "decltype"):
            return True
        if self.kind(before) == "id" and self.text(before) not in _NO_VALUES:
            return False
        if self.text(before) == ">" and ends_template_id(self.tokens, before):
            return False
        last = close - 1
        while last > opening and self.text(last) in ("*", "&", "const"):
            last -= 1
        return self.text(last) in (">", ">>") or self._is_type(last)

    def _operand_after(self, at: int) -> int:
        """The end of a name or of parentheses with what belongs to it; -1 for all else."""
        if self.kind(at) == "id" and self.text(at) not in _NO_VALUES | {"sizeof", "alignof"}:
            pass
        elif self.text(at) == "(" and not self._is_cast_or_head(self.closing[at]):
            at = self.closing[at]
        else:
            return -1
        while True:
            following = self.text(at + 1)
            if following in ("(", "["):
                at = self.closing[at + 1]
            elif following in (".", "->", "::"):
                at += 2
            elif following in ("{", "++", "--"):
                return -1
            elif following == "<":
                end = closing_angle(self.tokens, at + 1, len(self.tokens), self.closing)
                return -1 if end is not None and self.text(end + 1) in ("(", "::", "{") else at
            else:
                return at

    def _operand_before(self, at: int) -> int:
        """The start of a name or of parentheses with what belongs to it; -1 for all else."""
        while True:
            while self.text(at) in ("]", ")"):
                at = self.opening[at] - 1
                if self.kind(at) != "id" and self.text(at) not in ("]", ")"):
                    return at + 1 if self.text(at + 1) == "(" else -1
            if self.kind(at) != "id" or self.text(at) in _NO_VALUES | _BEFORE_STATEMENT:
                return -1
            if self.text(at - 1) not in (".", "->", "::"):
                return at
            at -= 2

    # ---- where nothing is marked

    def _untouched(self) -> Iterator[int]:
        for at, close in self.closing.items():
            if self.text(at) == "[":
                yield from self._plain_index(at + 1, close)
            elif self.text(at) == "(" and self.text(at - 1) == "for":
                step = self._last_part(at + 1, close)
                yield from (at for at in step if self.text(at) not in ("*", "*="))

    def _plain_index(self, at: int, end: int) -> list[int]:
        found = []
        while at < end:
            if self.text(at) == "[":
                at = self.closing[at]
            elif not self._is_of_index(at):
                return []
            found.append(at)
            at += 1
        return found

    def _is_of_index(self, at: int) -> bool:
        kind, text = self.kind(at), self.text(at)
        is_call = kind == "id" and self.text(at + 1) == "("
        return (kind in ("id", "number") and not is_call) or text in _OF_INDEX

    def _last_part(self, begin: int, end: int) -> range:
        at = start = begin
        while at < end:
            if self.text(at) == ";":
                start = at + 1
            at = self.closing.get(at, at) + 1
        return range(start, end)


def _partners(tokens: list[Token]) -> dict[int, int]:
    """For each opening bracket, its closing one. Text that the rewriter inserts may open one."""
    found: dict[int, int] = {}
    open_ones: list[int] = []
    for at, token in enumerate(tokens):
        if token.text.endswith(("(", "[", "{")):
            open_ones.append(at)
        elif token.text in (")", "]", "}") and open_ones:
            found[open_ones.pop()] = at
    return found


def _declared_types(tokens: list[Token]) -> frozenset[str]:
    """Every name that the program gives to a type, whatever its scope."""
    found: set[str] = set()
    typedef = False
    for at, token in enumerate(tokens[:-2]):
        following = tokens[at + 1]
        if token.text in _NAMES_TYPE:
            name = tokens[at + 2] if following.text in ("...", "class", "struct") else following
            found.add(name.text)
        typedef = token.text == "typedef" or (typedef and token.text != ";")
        names_it = typedef or (at > 0 and tokens[at - 1].text == "}")
        if names_it and token.kind == "id" and following.text in (";", "["):
            found.add(token.text)
    return frozenset(found)
