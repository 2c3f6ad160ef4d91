"""Macros: what a program defines, and what becomes of tokens that call them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from openmps.msl.diagnostics import refuse
from openmps.msl.lexer import tokenize
from openmps.msl.source import SourceFile, Token

MOST_TOKENS = 2_000_000


@dataclass(frozen=True)
class Macro:
    name: str
    body: tuple[Token, ...]
    parameters: tuple[str, ...] | None = None  # None: takes no parentheses
    variadic: bool = False


class Macros:
    def __init__(self, defines: Mapping[str, str]) -> None:
        self.known: dict[str, Macro] = {}
        self._counter = 0
        self._made = 0
        for name, value in defines.items():
            body = tokenize(SourceFile("<built-in>", value))[0]
            self.known[name] = Macro(name, tuple(body))

    def define(self, line: list[Token]) -> None:
        """`line`: the tokens of a #define, from the # on."""
        if len(line) < 3 or line[2].kind != "id":
            refuse(line[1].place, "macro name missing")
        name, rest = line[2], line[3:]
        if name.text == "defined":
            refuse(name.place, "'defined' cannot be used as a macro name")
        if not rest or rest[0].text != "(" or rest[0].space:
            self.known[name.text] = Macro(name.text, tuple(rest))
            return
        parameters: list[str] = []
        variadic = False
        at = 1
        while at < len(rest) and rest[at].text != ")":
            token = rest[at]
            if token.text == "...":
                variadic = True
                parameters.append("__VA_ARGS__")
            elif token.kind == "id":
                parameters.append(token.text)
                if at + 1 < len(rest) and rest[at + 1].text == "...":
                    variadic = True
                    at += 1
            else:
                refuse(token.place, "invalid token in macro parameter list")
            at += 1
            if at < len(rest) and rest[at].text == ",":
                at += 1
            elif at < len(rest) and rest[at].text != ")":
                refuse(rest[at].place, "expected comma in macro parameter list")
        if at >= len(rest):
            refuse(name.place, "missing ')' in macro parameter list")
        self.known[name.text] = Macro(name.text, tuple(rest[at + 1 :]), tuple(parameters), variadic)

    def expand(self, tokens: list[Token], out: list[Token]) -> None:
        """Appends `tokens`, macros expanded, to `out`."""
        macros = self.known
        pending = tokens[::-1]  # a stack: the next token is the last
        while pending:
            token = pending.pop()
            name = token.text
            if token.kind != "id" or name in token.hidden:
                out.append(token)
                continue
            macro = macros.get(name)
            if macro is None:
                if name.startswith("__") or name == "_Pragma":
                    self._special(token, pending, out)
                else:
                    out.append(token)
                continue
            if macro.parameters is None:
                body = self._place_body(macro, token, {}, {})
            else:
                if not pending or pending[-1].text != "(":
                    out.append(token)
                    continue
                given = self._arguments(macro, token, pending)
                expanded = {}
                for key, argument in given.items():
                    result: list[Token] = []
                    self.expand(argument, result)
                    expanded[key] = result
                body = self._place_body(macro, token, given, expanded)
            self._made += len(body)
            if self._made > MOST_TOKENS:
                refuse(token.place, f"macro '{name}' expands to too many tokens")
            body.reverse()
            pending += body

    def _special(self, token: Token, pending: list[Token], out: list[Token]) -> None:
        name = token.text
        if name == "__LINE__":
            out.append(token.like(str(token.place.line), "number"))
        elif name == "__FILE__":
            quoted = token.file.name.replace("\\", "\\\\").replace('"', '\\"')
            out.append(token.like(f'"{quoted}"', "string"))
        elif name == "__COUNTER__":
            out.append(token.like(str(self._counter), "number"))
            self._counter += 1
        elif name in ("_Pragma", "__pragma") and pending and pending[-1].text == "(":
            while pending and pending[-1].text != ")":
                inner = pending.pop()
                if inner.kind == "string" and inner.text[1:].startswith(("clang loop", "unroll")):
                    words = inner.text[1:-1].replace('\\"', '"')
                    out.append(token.like("#pragma " + words, "pragma"))
            if pending:
                pending.pop()
        else:
            out.append(token)

    def _arguments(self, macro: Macro, call: Token, pending: list[Token]) -> dict[str, list[Token]]:
        """Takes `( ... )` off the stack and names its parts after the macro's parameters."""
        parameters = macro.parameters
        assert parameters is not None
        pending.pop()
        parts: list[list[Token]] = [[]]
        depth = 0
        while True:
            if not pending:
                refuse(call.place, f"unterminated call of macro '{macro.name}'")
            token = pending.pop()
            text = token.text
            if text == "(":
                depth += 1
            elif text == ")":
                if depth == 0:
                    break
                depth -= 1
            elif (
                text == ","
                and depth == 0
                and not (macro.variadic and len(parts) == len(parameters))
            ):
                parts.append([])
                continue
            parts[-1].append(token)
        if not parameters and parts == [[]]:
            return {}
        if macro.variadic and len(parts) == len(parameters) - 1:
            parts.append([])
        if len(parts) != len(parameters):
            few = "few" if len(parts) < len(parameters) else "many"
            refuse(call.place, f"too {few} arguments provided to macro '{macro.name}'")
        return dict(zip(parameters, parts, strict=True))

    def _place_body(
        self,
        macro: Macro,
        call: Token,
        given: dict[str, list[Token]],
        expanded: dict[str, list[Token]],
    ) -> list[Token]:
        """The macro's body at the place of its call, parameters replaced, # and ## done."""
        hidden = call.hidden | {macro.name}
        file, position = call.file, call.position
        body = macro.body
        out: list[Token] = []
        at, end = 0, len(body)
        while at < end:
            token = body[at]
            text = token.text
            if text == "#" and macro.parameters is not None and at + 1 < end:
                argument = given.get(body[at + 1].text)
                if argument is not None:
                    out.append(Token("string", _quote(spelling(argument)), file, position))
                    at += 2
                    continue
            if text == "##" and out and at + 1 < end:
                right = body[at + 1]
                argument = given.get(right.text)
                pieces = [right] if argument is None else argument
                if argument is not None and out[-1].text == "," and right.text == "__VA_ARGS__":
                    # GNU: `, ## __VA_ARGS__` drops the comma if nothing follows.
                    if argument:
                        out += [self._moved(t, hidden, file, position) for t in argument]
                    else:
                        out.pop()
                elif pieces:
                    left = out.pop()
                    if left.kind == "nothing":
                        out.append(self._moved(pieces[0], hidden, file, position))
                    else:
                        out.append(self._pasted(left, pieces[0], hidden))
                    out += [self._moved(t, hidden, file, position) for t in pieces[1:]]
                at += 2
                continue
            if text == "__VA_OPT__" and macro.variadic and at + 1 < end:
                close = _matching(body, at + 1)
                if given.get("__VA_ARGS__"):
                    inner = Macro(macro.name, body[at + 2 : close], macro.parameters, True)
                    out += self._place_body(inner, call, given, expanded)
                at = close + 1
                continue
            if text in given:
                pasted_next = at + 1 < end and body[at + 1].text == "##"
                argument = given[text] if pasted_next else expanded[text]
                if argument:
                    out += [self._moved(t, hidden, file, position) for t in argument]
                elif pasted_next:
                    out.append(Token("nothing", "", file, position))
            else:
                out.append(Token(token.kind, text, file, position, token.space, hidden))
            at += 1
        return [token for token in out if token.kind != "nothing"]

    @staticmethod
    def _moved(token: Token, hidden: frozenset[str], file: SourceFile, position: int) -> Token:
        # An argument's own hidden set stays; the macro's name joins it only for its own tokens.
        return Token(token.kind, token.text, file, position, token.space, token.hidden)

    @staticmethod
    def _pasted(left: Token, right: Token, hidden: frozenset[str]) -> Token:
        joined = tokenize(SourceFile(left.file.name, left.text + right.text))[0]
        if len(joined) != 1:
            refuse(left.place, f"pasting formed '{left.text}{right.text}', an invalid token")
        return Token(joined[0].kind, joined[0].text, left.file, left.position, left.space, hidden)


def _matching(body: tuple[Token, ...], opening: int) -> int:
    depth = 0
    for at in range(opening, len(body)):
        depth += (body[at].text == "(") - (body[at].text == ")")
        if depth == 0:
            return at
    refuse(body[opening].place, "missing ')' after __VA_OPT__")


def spelling(tokens: list[Token]) -> str:
    parts: list[str] = []
    for number, token in enumerate(tokens):
        parts.append(" " + token.text if token.space and number else token.text)
    return "".join(parts)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
