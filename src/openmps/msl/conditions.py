"""The arithmetic of #if."""

from __future__ import annotations

import re

from openmps.msl.diagnostics import refuse
from openmps.msl.source import Token

_PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip

DEEPEST_NESTING = 200


def evaluate(tokens: list[Token], directive: Token) -> int:
    """The value of an expression whose macros are expanded; unknown names are 0, true is 1."""
    reader = _Reader(tokens, directive)
    value = reader.conditional()
    if reader.at < len(tokens):
        refuse(tokens[reader.at].place, "token is not a valid part of a #if expression")
    return value


class _Reader:
    def __init__(self, tokens: list[Token], directive: Token) -> None:
        self.tokens = tokens
        self.directive = directive
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def conditional(self) -> int:
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            refuse(self.directive.place, "#if expression nested too deeply")
        value = self.binary(1)
        if self.peek() == "?":
            self.at += 1
            first = self.conditional()
            if self.peek() != ":":
                refuse(self.directive.place, "expected ':' in #if expression")
            self.at += 1
            second = self.conditional()
            value = first if value else second
        self.depth -= 1
        return value

    def binary(self, least: int) -> int:
        left = self.unary()
        while _PRECEDENCE.get(self.peek(), 0) >= least:
            operator = self.peek()
            self.at += 1
            right = self.binary(_PRECEDENCE[operator] + 1)
            left = self.apply(operator, left, right)
        return left

    def unary(self) -> int:
        if self.at >= len(self.tokens):
            refuse(self.directive.place, "expected value in expression")
        token = self.tokens[self.at]
        self.at += 1
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            refuse(self.directive.place, "#if expression nested too deeply")
        value = self.primary(token)
        self.depth -= 1
        return value

    def primary(self, token: Token) -> int:
        text = token.text
        if text == "!":
            return int(not self.unary())
        if text == "-":
            return -self.unary()
        if text == "+":
            return self.unary()
        if text == "~":
            return ~self.unary()
        if text == "(":
            value = self.conditional()
            if self.peek() != ")":
                refuse(token.place, "expected ')' in #if expression")
            self.at += 1
            return value
        if token.kind == "number":
            digits = re.sub(r"[uUlL']+", "", text)
            octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
            try:
                return int(digits, 8 if octal else 0)
            except ValueError:
                refuse(token.place, f"'{text}' is not an integer")
        if token.kind == "character" and len(text) == 3:
            return ord(text[1])
        if token.kind == "id":
            return int(text == "true")
        refuse(token.place, "token is not a valid part of a #if expression")

    def apply(self, operator: str, left: int, right: int) -> int:
        if operator in ("/", "%"):
            if right == 0:
                refuse(self.directive.place, "division by zero in #if expression")
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if operator == "/" else left - quotient * right
        if operator in ("<<", ">>"):
            amount = min(max(right, 0), 64)
            return _wrapped(left << amount) if operator == "<<" else left >> amount
        results = {
            "||": int(bool(left) or bool(right)), "&&": int(bool(left) and bool(right)),
            "|": left | right, "^": left ^ right, "&": left & right,
            "==": int(left == right), "!=": int(left != right), "<": int(left < right),
            ">": int(left > right), "<=": int(left <= right), ">=": int(left >= right),
            "+": _wrapped(left + right), "-": _wrapped(left - right), "*": _wrapped(left * right),
        }  # fmt: skip
        return results[operator]


def _wrapped(value: int) -> int:
    """As a 64-bit signed integer."""
    return (value + 2**63) % 2**64 - 2**63
