"""Where a declaration ends, and what it is made of: template head, parameters, body."""

from __future__ import annotations

from dataclasses import dataclass

from openmps.msl.diagnostics import refuse
from openmps.msl.source import Token
from openmps.msl.tokens import closing_angle, partners

CLASS_KEYS = frozenset({"struct", "class", "union", "enum"})
_NOT_PARAMETERS = frozenset(
    {"decltype", "alignas", "noexcept", "__attribute__", "sizeof", "explicit", "requires"}
)


@dataclass(frozen=True)
class Declaration:
    begin: int
    end: int
    parameters: int | None  # the index of `(`
    body: int | None  # the index of a function's `{`
    class_body: int | None  # the index of a class's `{`
    head: int  # first token after `template <...>`


class DeclarationReader:
    """Tokens with their brackets matched. Positions are indices of tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.partner = partners(tokens)
        self.opening = {close: opening for opening, close in self.partner.items()}

    def text(self, at: int) -> str:
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def kind(self, at: int) -> str:
        return self.tokens[at].kind if 0 <= at < len(self.tokens) else ""

    def semicolon(self, at: int, end: int) -> int:
        """Just past the `;` that ends the statement at `at`."""
        position = at
        while position < end:
            text = self.text(position)
            if text in ("(", "[", "{"):
                position = self.partner.get(position, position)
            elif text == ";":
                return position + 1
            position += 1
        refuse(self.tokens[min(end, len(self.tokens)) - 1].place, "expected ';'")

    def measure(self, begin: int, end: int) -> Declaration:
        """Where the declaration at `begin` ends, and what it is made of."""
        tokens, partner = self.tokens, self.partner
        at = begin
        while self.text(at) == "template" and self.text(at + 1) == "<":
            close = closing_angle(tokens, at + 1, end, partner)
            if close is None:
                refuse(tokens[at + 1].place, "expected '>'")
            at = close + 1
        head = min(at, end - 1)
        parameters = body = class_body = None
        is_class = assigned = False
        while at < end:
            token = tokens[at]
            text = token.text
            if token.kind == "id":
                if text in CLASS_KEYS and parameters is None and not assigned:
                    is_class = True
                elif text == "operator":
                    at = self._after_operator_name(at, end)
                    continue
            elif token.kind == "operator":
                if text == "<" and not assigned and tokens[at - 1].kind == "id":
                    close = closing_angle(tokens, at, end, partner)
                    if close is not None:
                        at = close + 1
                        continue
                elif text == "(":
                    before = self.text(at - 1) if at > begin else ""
                    if parameters is None and not assigned and before not in _NOT_PARAMETERS:
                        parameters = at
                    at = partner[at]
                elif text == "[":
                    at = partner[at]
                elif text == "=":
                    assigned = True
                elif text == ":" and parameters is not None and not assigned:
                    at = self._after_member_initialisers(at + 1, end)
                    continue
                elif text == "{":
                    close = partner[at]
                    if assigned or (is_class and class_body is not None):
                        at = close
                    elif is_class and parameters is None:
                        class_body = at
                        at = close
                    elif parameters is not None:
                        body = at
                        return Declaration(begin, close + 1, parameters, body, None, head)
                    else:
                        at = close
                elif text == ";":
                    return Declaration(begin, at + 1, parameters, None, class_body, head)
            at += 1
        last = tokens[max(begin, min(at, len(tokens)) - 1)]
        refuse(last.place, "expected ';' after this declaration")

    def _after_operator_name(self, at: int, end: int) -> int:
        at += 1
        if self.text(at) == "(" and self.text(at + 1) == ")":
            return at + 2
        while at < end and self.text(at) not in ("(", ";", "{"):
            at += 1
        return at

    def _after_member_initialisers(self, at: int, end: int) -> int:
        """Past `a(1), b{2}`: the index of the constructor's body."""
        while at < end:
            while at < end and self.text(at) not in ("(", "{", ";"):
                if self.text(at) == "<":
                    close = closing_angle(self.tokens, at, end, self.partner)
                    at = close if close is not None else at
                at += 1
            if at >= end or self.text(at) == ";":
                return at
            at = self.partner[at] + 1
            if self.text(at) == "...":
                at += 1
            if self.text(at) != ",":
                return at
            at += 1
        return at
