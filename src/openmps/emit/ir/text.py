"""Reads the text of LLVM IR as clang 22 prints it: types, values, constants, and a module's parts.

Metadata and attributes that change no result are dropped. Functions stay text (ir_instructions
reads one). What is not known is never skipped: a newer clang may mean something by it.
"""

from __future__ import annotations

import re

from openmps.emit.ir.model import (
    DOUBLE,
    FAST_MATH,
    FLOAT,
    HALF,
    I8,
    LABEL,
    METADATA,
    PTR,
    VOID,
    Module,
    Operand,
    Type,
    UnsupportedIR,
    integer,
)  # fmt: skip

_NAMED_TYPES = {
    "half": HALF,
    "float": FLOAT,
    "double": DOUBLE,
    "bfloat": Type("float", "bfloat", 16),
    "ptr": PTR,
    "void": VOID,
    "label": LABEL,
    "metadata": METADATA,
}
_NAME = r'(?:[-a-zA-Z$._0-9]+|"(?:[^"\\]|\\.)*")'
_LOCAL = re.compile("%" + _NAME)
_VALUE = re.compile(
    rf"[%@]{_NAME}|-?\d+(?:\.\d+(?:e[+-]?\d+)?)?(?![\w.])|(?:f)?0x[HKLMR]?[0-9A-Fa-f]+"
    r'|c"(?:[^"\\]|\\.)*"'
)
_WORD = re.compile(r"[a-zA-Z_][\w.]*")
_INT_TYPE = re.compile(r"i(\d+)(?![\w.])")
_COUNT = re.compile(r"(\d+) x ")
_END = re.compile(r"(?:, align \d+)?(?: #\d+)* *$")
LABEL_LINE = re.compile(rf"({_NAME}):")
SYMBOL = re.compile(rf"@({_NAME})")
_PLAIN_VALUES = frozenset(["true", "false", "null", "undef", "poison", "zeroinitializer", "none"])
_EXPRESSIONS = frozenset(
    [
        "splat",
        "getelementptr",
        "ptrtoint",
        "ptrtoaddr",
        "inttoptr",
        "bitcast",
        "addrspacecast",
        "trunc",
        "add",
        "sub",
        "xor",
    ]
)
# Attributes of parameters and results that promise something, and change nothing.
_PROMISES = frozenset(
    [
        "align",
        "allocalign",
        "allocptr",
        "captures",
        "dead_on_return",
        "dead_on_unwind",
        "dereferenceable",
        "dereferenceable_or_null",
        "immarg",
        "initializes",
        "noalias",
        "nocapture",
        "nofpclass",
        "nofree",
        "nonnull",
        "noundef",
        "range",
        "readnone",
        "readonly",
        "returned",
        "writable",
        "writeonly",
    ]
)
_EXTENSIONS = frozenset(["signext", "zeroext"])
_BY_VALUE = frozenset(["byval", "sret"])
_CONVENTIONS = frozenset(["ccc", "coldcc", "fastcc"])
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_FLAGS = FAST_MATH | frozenset(
    ["nuw", "nsw", "exact", "inbounds", "disjoint", "nneg", "samesign", "nusw"]
)


class Cursor:
    """A position in one line of IR."""

    def __init__(self, text: str, types: dict[str, Type], at: int = 0) -> None:
        self.text = text
        self.types = types
        self.at = at

    def fail(self, what: str) -> UnsupportedIR:
        return UnsupportedIR(f"cannot read {what} at column {self.at}", self.text)

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

    def peek(self, token: str) -> bool:
        self.space()
        return self.text.startswith(token, self.at)

    def accept(self, token: str) -> bool:
        if self.peek(token):
            self.at += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.fail(repr(token))

    def peek_word(self) -> str:
        self.space()
        match = _WORD.match(self.text, self.at)
        return match.group() if match else ""

    def word(self) -> str:
        word = self.peek_word()
        if not word:
            raise self.fail("a word")
        self.at += len(word)
        return word

    def local(self) -> str:
        self.space()
        match = _LOCAL.match(self.text, self.at)
        if not match:
            raise self.fail("a local name")
        self.at = match.end()
        return match.group()

    def balanced(self) -> str:
        """A bracketed group, brackets included."""
        self.space()
        begin = self.at
        depth = 0
        quoted = False
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == '"':
                quoted = not quoted
            elif quoted:
                continue
            elif character in "([{<":
                depth += 1
            elif character in ")]}>":
                depth -= 1
                if depth == 0:
                    return self.text[begin : self.at]
        raise self.fail("a closed bracket")

    def type(self) -> Type:
        self.space()
        text, at = self.text, self.at
        begin = text[at : at + 1]
        if begin == "i" and (match := _INT_TYPE.match(text, at)):
            self.at = match.end()
            return integer(int(match.group(1)))
        if begin == "%":
            name = self.local()
            if name not in self.types:
                raise self.fail("a named type")
            return self.types[name]
        if begin == "[" or (begin == "<" and text[at + 1 : at + 2] != "{"):
            self.at += 1
            self.space()
            match = _COUNT.match(text, self.at)
            if not match:
                raise self.fail("an element count")
            self.at = match.end()
            element = self.type()
            self.expect(_CLOSING[begin])
            kind = "array" if begin == "[" else "vector"
            return Type(kind, text[at : self.at], count=int(match.group(1)), members=(element,))
        if begin == "{" or begin == "<":
            packed = begin == "<"
            self.at += 2 if packed else 1
            members = []
            while not self.accept("}"):
                members.append(self.type())
                self.accept(",")
            if packed:
                self.expect(">")
            return Type("struct", text[at : self.at], members=tuple(members), packed=packed)
        word = self.peek_word()
        if word in _NAMED_TYPES:
            self.at += len(word)
            if word == "ptr" and self.peek("addrspace"):
                raise self.fail("a pointer in another address space")
            return _NAMED_TYPES[word]
        raise self.fail("a type")

    def at_type(self) -> bool:
        self.space()
        head = self.text[self.at : self.at + 1]
        if head and head in "<[{%":
            return True
        return bool(_INT_TYPE.match(self.text, self.at)) or self.peek_word() in _NAMED_TYPES

    def value(self) -> str:
        self.space()
        match = _VALUE.match(self.text, self.at)
        if match:
            self.at = match.end()
            return match.group()
        head = self.text[self.at : self.at + 1]
        if head and head in "<[{":
            return self.balanced()
        word = self.peek_word()
        if word in _PLAIN_VALUES:
            self.at += len(word)
            return word
        if word in _EXPRESSIONS:
            begin = self.at
            self.at += len(word)
            while not self.peek("("):
                flag = self.word()
                if flag == "inrange":
                    break
            self.balanced()
            return self.text[begin : self.at]
        raise self.fail("a value")

    def operand(self) -> Operand:
        kind = self.type()
        return Operand(kind, self.value())

    def attributes(self) -> str:
        """Of a parameter: skips promises, and returns those that the callee must know of."""
        kept = ""
        while True:
            word = self.peek_word()
            if not word or word in _PLAIN_VALUES or word in _EXPRESSIONS or self.at_type():
                return kept
            begin = self.at
            if word in _EXTENSIONS:
                self.at += len(word)
            elif word in _BY_VALUE:
                self.at += len(word)
                self.balanced()
            else:
                self._promise()
                if word != "align" or "byval" not in kept:
                    continue  # that of a copy on the stack is part of how it is passed
            kept += f" {self.text[begin : self.at]}"

    def convention(self) -> str:
        """Of a call, before the type of its result: what the callee must know of."""
        kept = ""
        while not self.at_type():
            word = self.peek_word()
            if word in _EXTENSIONS or word in _CONVENTIONS:
                self.at += len(word)
                kept += f"{word} "
            else:
                self._promise()
        return kept

    def _promise(self) -> None:
        word = self.peek_word()
        if word not in _PROMISES:
            raise self.fail("an attribute")
        self.at += len(word)
        if self.peek("("):
            self.balanced()
        elif word == "align":
            self.space()
            self.value()

    def end(self) -> None:
        """Nothing follows but an alignment and groups of attributes."""
        if not _END.match(self.text, self.at):
            raise self.fail("the end")

    def flags(self) -> str:
        found = []
        while (word := self.peek_word()) in _FLAGS:
            self.at += len(word)
            found.append(word + " ")
        return "".join(found)


def parse_constant(text: str, kind: Type, types: dict[str, Type]) -> list[Operand]:
    """The scalar leaves of a constant of composite type."""
    if kind.scalar:
        return [Operand(kind, text)]
    if text in ("undef", "poison", "zeroinitializer"):
        leaves = []
        for index in range(kind.length):
            member = kind.member(index)
            value = text
            if text == "zeroinitializer" and member.scalar:
                value = zero_of(member)
            leaves += parse_constant(value, member, types)
        return leaves
    cursor = Cursor(text, types)
    if cursor.accept("splat"):
        cursor.expect("(")
        return [cursor.operand()] * kind.count
    if text.startswith('c"'):
        data = re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m.group(1), 16)), text[2:-1])
        return [Operand(I8, str(ord(character))) for character in data]
    cursor.accept("<{") or cursor.accept("<") or cursor.accept("[") or cursor.accept("{")
    leaves = []
    for _ in range(kind.length):
        operand = cursor.operand()
        leaves += parse_constant(operand.value, operand.type, types)
        cursor.accept(",")
    return leaves


def zero_of(kind: Type) -> str:
    return {"int": "0", "ptr": "null"}.get(kind.kind, "0.0") if kind.bits != 1 else "false"


_SAYS_NOTHING = (";", "!", "^", "source_filename ", "uselistorder")


def parse_module(text: str) -> Module:
    module = Module([], [], {}, {}, {}, {})
    lines = text.split("\n")
    type_lines: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("define "):
            if "}" not in lines[at:]:
                raise UnsupportedIR("a function without an end", line)
            end = lines.index("}", at) + 1
            module.definitions[_symbol(line)] = "\n".join(lines[at - 1 : end])
            at = end
        elif line.startswith("declare "):
            module.declarations[_symbol(line)] = _strip_metadata(line)
        elif line.startswith("@"):
            module.globals.append(_strip_metadata(line))
        elif line.startswith(("target ", "$", "module asm ")):
            module.header.append(line)
        elif line.startswith("%") and " = type " in line:
            module.header.append(line)
            name, _, body_text = line.partition(" = type ")
            type_lines[name] = body_text
        elif line.startswith("attributes #"):
            name, _, group = line[len("attributes ") :].partition(" = ")
            module.attributes[name] = group
        elif line and not line.startswith(_SAYS_NOTHING):
            raise UnsupportedIR("a line that the pass does not know", line)
    _resolve_types(type_lines, module.types)
    return module


def _symbol(line: str) -> str:
    match = SYMBOL.search(line)
    if not match:
        raise UnsupportedIR("a function without a name", line)
    return match.group(1).strip('"')


_LAST_METADATA = re.compile(r"(?:, ![\w.]+ !\d+)+$")
_FIRST_METADATA = re.compile(r"^declare(?: ![\w.]+ !\d+)+")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def _strip_metadata(line: str) -> str:
    """Of a line that stays in the module, where metadata does not."""
    line = _FIRST_METADATA.sub("declare", _LAST_METADATA.sub("", line))
    if "!" in _QUOTED.sub("", line):
        raise UnsupportedIR("metadata in a place that the pass does not know", line)
    return line


def _resolve_types(lines: dict[str, str], types: dict[str, Type]) -> None:
    # A named type may be printed before those it is made of.
    pending = dict(lines)
    while pending:
        done = []
        for name, body in pending.items():
            if body.startswith("opaque"):
                types[name] = Type("struct", name)
                done.append(name)
                continue
            try:
                found = Cursor(body, types).type()
            except UnsupportedIR:
                continue
            types[name] = Type(found.kind, name, 0, found.count, found.members, found.packed)
            done.append(name)
        if not done:
            raise UnsupportedIR("named types that refer to each other", ", ".join(pending))
        for name in done:
            del pending[name]
