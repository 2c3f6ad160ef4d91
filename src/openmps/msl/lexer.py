"""Text to tokens. Comments and white space become a flag on the token that follows."""

from __future__ import annotations

import re

from openmps.msl.diagnostics import refuse
from openmps.msl.source import SourceFile, Token

_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\r\f\v]|\\\r?\n|//[^\n]*|/\*.*?\*/)+)
  | (?P<unclosed>/\*)
  | (?P<newline>\n)
  | (?P<id>[A-Za-z_$][\w$]*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'[\w]|[\w.])*)
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<operator>\#\#|<<=|>>=|<=>|\.\.\.|->\*|::|<<|>>|->|\+\+|--|<=|>=|==|!=|&&|\|\|
      |[-+*/%&|^]=|[][{}()<>;:?,.=+\-*/%&|^~!\#@])
    """,
    re.X | re.S,
)


def tokenize(file: SourceFile) -> list[list[Token]]:
    """The tokens of each logical line. An empty line is an empty list."""
    text = file.text
    lines: list[list[Token]] = []
    line: list[Token] = []
    position, end = 0, len(text)
    space = False
    match_at = _TOKEN.match
    while position < end:
        match = match_at(text, position)
        if match is None:
            line.append(_odd_character(file, position, space))
            position += 1
            space = False
            continue
        kind = match.lastgroup
        assert kind is not None
        if kind == "newline":
            lines.append(line)
            line = []
            space = False
        elif kind == "space":
            space = True
        elif kind == "unclosed":
            refuse(file.place(position), "unterminated /* comment")
        else:
            line.append(Token(kind, match.group(), file, position, space))
            space = False
        position = match.end()
    lines.append(line)
    return lines


def _odd_character(file: SourceFile, position: int, space: bool) -> Token:
    character = file.text[position]
    if character == '"':
        refuse(file.place(position), "missing terminating '\"' character")
    if character == "'":
        # An apostrophe in a skipped #if branch or an #error text is no mistake.
        return Token("operator", character, file, position, space)
    if not character.isprintable() or ord(character) > 126:
        refuse(file.place(position), f"unexpected character <U+{ord(character):04X}>")
    return Token("operator", character, file, position, space)
