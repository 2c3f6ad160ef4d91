"""Metal's expressions and types as C++: no address spaces, typed literals, guarded divisions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openmps.msl.diagnostics import refuse
from openmps.msl.source import Token

ADDRESS_SPACES = frozenset(
    {"device", "thread", "threadgroup", "constant", "threadgroup_imageblock", "ray_data",
     "object_data"}
)  # fmt: skip

_SWIZZLE = re.compile(r"[xyzw]{2,4}|[rgba]{2,4}")
_LETTER = {letter: index % 4 for index, letter in enumerate("xyzwrgba")}
_ASSIGNMENTS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
_KEYWORDS_BEFORE_VALUE = frozenset(
    {"return", "case", "else", "do", "throw", "new", "delete", "operator", "typename", "template",
     "class", "struct", "const", "constexpr", "static", "inline", "using", "namespace", "typedef",
     "sizeof", "alignof", "decltype"}
)  # fmt: skip


class Rewriter:
    """Rewrites ranges of one program's tokens.

    members    names declared inside classes: `.ab` is then a member and no swizzle
    constants  the indices of function constants, by name
    """

    def __init__(self, members: frozenset[str], constants: Mapping[str, str]) -> None:
        self._members = members
        self._constants = constants

    def rewrite(self, tokens: Sequence[Token]) -> list[Token]:
        out: list[Token] = []
        at, end = 0, len(tokens)
        parentheses = _of_compound_literals(tokens)
        arms = _literal_arms(tokens)
        while at < end:
            token = tokens[at]
            kind = token.kind
            if at in arms:
                arm = arms[at]
                out.append(token.like(f"{arm.macro}("))
                out += self.rewrite(tokens[at : arm.end])
                if arm.beside:
                    out += [token.like(","), *self.rewrite(arm.beside)]
                out.append(token.like(")"))
                at = arm.end
                continue
            if at in parentheses:
                out.append(token.like(parentheses[at]))
                at += 1
                continue
            if kind == "id":
                at = self._name(tokens, at, end, out)
                continue
            if kind == "number":
                out.append(_number(token))
            elif kind == "operator":
                text = token.text
                if text in ("/", "%"):
                    # `a / guard / b`: same precedence, and the shim sees both operands.
                    if not (out and out[-1].text == "operator"):
                        out.append(token.like(f"{text} openmps_guard {text}"))
                    else:
                        out.append(token)
                elif text in ("/=", "%=") and not (out and out[-1].text == "operator"):
                    out.append(token.like(f"{text} openmps_guard ="))
                elif text == "::" and _is_global(tokens, at):
                    out.append(token.like("::msl::"))
                else:
                    out.append(token)
            elif kind != "attribute":
                out.append(token)
            at += 1
        return out

    def _name(self, tokens: Sequence[Token], at: int, end: int, out: list[Token]) -> int:
        """Handles the name at `at`; returns where to go on."""
        token = tokens[at]
        text = token.text
        after_dot = bool(out) and out[-1].text in (".", "->")
        if after_dot:
            if _SWIZZLE.fullmatch(text) and text not in self._members:
                indices = ", ".join(str(_LETTER[letter]) for letter in text)
                following = tokens[at + 1].text if at + 1 < end else ""
                verb = "openmps_ref" if following in _ASSIGNMENTS else "openmps_get"
                out.append(token.like(f"template {verb}<{indices}>()"))
            else:
                out.append(token)
            return at + 1
        if text in ADDRESS_SPACES:
            if text == "constant" and not _const_nearby(tokens, at, out):
                out.append(token.like("const"))
            return at + 1
        following = tokens[at + 1].text if at + 1 < end else ""
        if text == "coherent" and following == "(":
            depth, at = 0, at + 1
            while at < end:
                depth += (tokens[at].text == "(") - (tokens[at].text == ")")
                at += 1
                if depth == 0:
                    break
            return at
        if text == "double":
            refuse(
                token.place,
                "'double' is not supported in Metal",
                next_step="use float; a Mac's graphics processor has no 64-bit floats",
            )
        if text == "restrict":
            out.append(token.like("__restrict"))
        elif text == "is_function_constant_defined" and following == "(" and at + 3 < end:
            index = self._constants.get(tokens[at + 2].text)
            if out and out[-1].text == "::":
                out.pop()
                out.pop()
            out.append(token.like("false" if index is None else f"openmps_constant_set<({index})>"))
            return at + 4
        else:
            out.append(token)
        return at + 1


_BEFORE_COMPOUND_LITERAL = frozenset(
    {"=", "+=", "-=", "*=", "/=", "(", "{", "[", ",", "?", ":", "+", "-", "*", "/", "&&", "||",
     "==", "!=", "return"}
)  # fmt: skip


def _of_compound_literals(tokens: Sequence[Token]) -> dict[int, str]:
    """What becomes of the parentheses of `(float4){1, 2, 3, 4}`, which is no C++."""
    found: dict[int, str] = {}
    for at, token in enumerate(tokens):
        if token.text != "{" or at < 3 or tokens[at - 1].text != ")":
            continue
        opening = _opening(tokens, at - 1)
        before = tokens[opening - 1].text if opening > 0 else ""
        is_operator = opening > 1 and tokens[opening - 2].text == "operator"
        is_array = any(inside.text == "[" for inside in tokens[opening:at])
        if before in _BEFORE_COMPOUND_LITERAL and not is_operator and not is_array:
            found[opening] = "::msl::openmps_detail::same_t<"
            found[at - 1] = ">"
    return found


_FLOAT_MACROS = frozenset({"NAN", "INFINITY", "HUGE_VALF", "FLT_MAX", "FLT_MIN", "MAXFLOAT"})
_AFTER_ARM = frozenset({";", ")", "]", "}", ","})


_LONGEST_BESIDE = 60  # it is written twice, and arms may be nested


@dataclass(frozen=True)
class _Arm:
    """A literal up to `end`; `beside`: the tokens of the arm before it, if it is the second."""

    macro: str
    end: int
    beside: Sequence[Token]


def _literal_arms(tokens: Sequence[Token]) -> dict[int, _Arm]:
    """The arms of `c ? a : b` that are one literal, where the other is not, by their start.

    Where half is a class, C++ does not know whether to make both arms halves or floats.
    """
    found: dict[int, _Arm] = {}
    questions: list[int] = []
    for at, token in enumerate(tokens):
        if token.text == "?":
            questions.append(at)
        elif token.text == ":" and questions:
            first, second = questions.pop() + 1, at + 1
            first_end, second_end = _literal_end(tokens, first), _literal_end(tokens, second)
            is_first = first_end == at
            is_second = second_end > second and tokens[second_end].text in _AFTER_ARM
            if is_first and not is_second:
                found[first] = _Arm("OPENMPS_FIRST_ARM", first_end, ())
            elif is_second and not is_first:
                beside = tokens[first:at]
                if len(beside) <= _LONGEST_BESIDE and all(t.text != "{" for t in beside):
                    found[second] = _Arm("OPENMPS_SECOND_ARM", second_end, beside)
    return found


def _literal_end(tokens: Sequence[Token], at: int) -> int:
    """Where the literal that begins at `at`, perhaps with a sign, ends; `at` if none does."""
    start = at
    if at < len(tokens) and tokens[at].text == "-":
        at += 1
    if at + 1 < len(tokens) and (tokens[at].kind == "number" or tokens[at].text in _FLOAT_MACROS):
        return at + 1
    return start


def _opening(tokens: Sequence[Token], at: int) -> int:
    """The `(` that the `)` at `at` closes; 0 if it lies before these tokens."""
    depth = 0
    while at > 0:
        depth += (tokens[at].text == ")") - (tokens[at].text == "(")
        if depth == 0:
            break
        at -= 1
    return at


def _const_nearby(tokens: Sequence[Token], at: int, out: list[Token]) -> bool:
    if out and out[-1].text in ("const", "constexpr"):
        return True
    for following in tokens[at + 1 : at + 3]:
        if following.text in ("const", "constant", "constexpr"):
            return True
        if following.text not in ADDRESS_SPACES and following.text not in ("volatile", "static"):
            return False
    return False


def _is_global(tokens: Sequence[Token], at: int) -> bool:
    if at == 0:
        return True
    before = tokens[at - 1]
    if before.kind == "id":
        return before.text in _KEYWORDS_BEFORE_VALUE or before.text in ADDRESS_SPACES
    if before.text in (">", ">>"):
        return not ends_template_id(tokens, at - 1)
    if before.text == ")":
        return not _ends_decltype(tokens, at - 1)
    return before.text != "]"


def _ends_decltype(tokens: Sequence[Token], at: int) -> bool:
    """Whether the `)` at `at` belongs to `decltype(...)`: no condition, no cast."""
    opening = _opening(tokens, at)
    return opening > 0 and tokens[opening - 1].text == "decltype"


def ends_template_id(tokens: Sequence[Token], at: int) -> bool:
    """Whether the `>` at `at` belongs to `name<...>`: no comparison, and no `template <...>`."""
    angles = brackets = 0
    while at >= 0:
        text = tokens[at].text
        brackets += (text in (")", "]", "}")) - (text in ("(", "[", "{"))
        if brackets < 0 or text == ";":
            return False
        if brackets == 0:
            angles += {">": 1, ">>": 2, "<": -1}.get(text, 0)
            if angles <= 0:
                return at > 0 and tokens[at - 1].text != "template"
        at -= 1
    return False


_FLOAT = re.compile(r"(?!0[xX])(?=.*[.eE])[\d.']+(?:[eE][+-]?\d+)?")
_HEX_FLOAT = re.compile(r"0[xX][0-9a-fA-F'.]+[pP][+-]?\d+")


def _number(token: Token) -> Token:
    """A floating literal without suffix is a float in Metal; `h` makes a half."""
    text = token.text
    if text.isdigit():
        return token
    match = _FLOAT.match(text) or _HEX_FLOAT.match(text)
    if match is None:
        if text[-1] in "hH" and text[:-1].isdigit():
            return token.like(f"half({text[:-1]}.0f)")
        return token
    suffix = text[match.end() :]
    if suffix == "":
        return token.like(text + "f", "number")
    if suffix in ("h", "H"):
        return token.like(f"half({match.group()}f)")
    if suffix in ("bf", "BF"):
        return token.like(f"bfloat({match.group()}f)")
    return token
