"""Reads the textual IR that clang 22 prints: one function in full, the rest of the module as text.

Knows the grammar and the layout of types, nothing about lanes. Metadata and attributes that change
no result are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class UnsupportedIR(Exception):
    """The pass cannot handle this instruction; the caller runs one fibre per thread instead."""

    def __init__(self, reason: str, instruction: str = "") -> None:
        super().__init__(f"{reason}: {instruction}" if instruction else reason)
        self.reason = reason
        self.instruction = instruction


@dataclass(frozen=True)
class Type:
    kind: str  # int float ptr void vector array struct label metadata
    text: str
    bits: int = 0
    count: int = 0
    members: tuple[Type, ...] = ()
    packed: bool = False

    @property
    def scalar(self) -> bool:
        return self.kind in ("int", "float", "ptr")

    @property
    def composite(self) -> bool:
        return self.kind in ("vector", "array", "struct")

    @property
    def size(self) -> int:
        """Bytes from one element to the next in an array of this type."""
        if self.kind in ("int", "float", "ptr"):
            store = (self.bits + 7) // 8
            return _round_up(store, self.align)
        if self.kind == "vector":
            return _round_up((self.count * self.members[0].bits + 7) // 8, self.align)
        if self.kind == "array":
            return self.count * self.members[0].size
        if self.kind == "struct":
            end = self.offset(len(self.members) - 1) + self.members[-1].size if self.members else 0
            return _round_up(end, self.align)
        raise UnsupportedIR("a type without a size", self.text)

    @property
    def align(self) -> int:
        if self.kind in ("int", "float", "ptr"):
            return min(_power_of_two((self.bits + 7) // 8), 16)
        if self.kind == "vector":
            return _power_of_two((self.count * self.members[0].bits + 7) // 8)
        if self.kind == "array":
            return self.members[0].align
        if self.kind == "struct":
            return 1 if self.packed else max((m.align for m in self.members), default=1)
        return 1

    def offset(self, index: int) -> int:
        """Where member `index` begins."""
        if self.kind == "vector":
            return index * (self.members[0].bits // 8)
        if self.kind == "array":
            return index * self.members[0].size
        at = 0
        for k, member in enumerate(self.members):
            if not self.packed:
                at = _round_up(at, member.align)
            if k == index:
                return at
            at += member.size
        raise UnsupportedIR("a member that does not exist", self.text)

    def member(self, index: int) -> Type:
        return self.members[index] if self.kind == "struct" else self.members[0]

    @property
    def length(self) -> int:
        return len(self.members) if self.kind == "struct" else self.count


def _round_up(value: int, step: int) -> int:
    return (value + step - 1) // step * step


def _power_of_two(value: int) -> int:
    return 1 << max(value - 1, 0).bit_length()


def integer(bits: int) -> Type:
    return Type("int", f"i{bits}", bits)


I1, I8, I16, I32, I64 = (integer(bits) for bits in (1, 8, 16, 32, 64))
HALF = Type("float", "half", 16)
FLOAT = Type("float", "float", 32)
DOUBLE = Type("float", "double", 64)
PTR = Type("ptr", "ptr", 64)
VOID = Type("void", "void")
LABEL = Type("label", "label")
METADATA = Type("metadata", "metadata")
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


class Operand(NamedTuple):
    type: Type
    value: str


@dataclass(slots=True)
class Instruction:
    op: str
    type: Type = VOID  # of the result
    result: str = ""
    operands: list[Operand] = field(default_factory=list)
    flags: str = ""  # fast-math and wrap flags, as text with a space after each
    detail: str = ""  # predicate, callee, atomicrmw operation
    targets: list[str] = field(default_factory=list)  # of a branch; incoming blocks of a phi
    cases: list[str] = field(default_factory=list)  # switch values, for targets[1:]
    indices: list[int] = field(default_factory=list)  # extractvalue, shufflevector, ptradd scales
    offset: int = 0  # ptradd: constant bytes
    source: Type = VOID  # element type of getelementptr and alloca
    ordering: str = ""  # of an atomic access; empty for a plain one
    volatile: bool = False
    text: str = ""

    def unsupported(self, reason: str) -> UnsupportedIR:
        return UnsupportedIR(reason, self.text or f"{self.op} {self.detail}")


@dataclass(slots=True)
class Block:
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    @property
    def end(self) -> Instruction:
        return self.instructions[-1]

    def phis(self) -> Iterator[Instruction]:
        for instruction in self.instructions:
            if instruction.op != "phi":
                return
            yield instruction


@dataclass(slots=True)
class Function:
    name: str
    arguments: list[Operand]
    blocks: dict[str, Block]
    attributes: str  # those in quotes, such as "target-cpu"="..."


@dataclass
class Module:
    header: list[str]  # target lines and named types
    globals: list[str]
    declarations: dict[str, str]  # by name
    definitions: dict[str, str]  # by name, the whole text
    attributes: dict[str, str]  # groups, by "#0"
    types: dict[str, Type]

    def function(self, name: str) -> Function:
        if name not in self.definitions:
            raise UnsupportedIR("the module does not define the function", name)
        return _FunctionParser(self, self.definitions[name]).parse()


_NAME = r'(?:[-a-zA-Z$._0-9]+|"(?:[^"\\]|\\.)*")'
_LOCAL = re.compile("%" + _NAME)
_VALUE = re.compile(
    rf"[%@]{_NAME}|-?\d+(?:\.\d+(?:e[+-]?\d+)?)?(?![\w.])|(?:f)?0x[HKLMR]?[0-9A-Fa-f]+"
    r'|c"(?:[^"\\]|\\.)*"'
)
_WORD = re.compile(r"[a-zA-Z_][\w.]*")
_INT_TYPE = re.compile(r"i(\d+)(?![\w.])")
_COUNT = re.compile(r"(\d+) x ")
_LABEL_LINE = re.compile(rf"({_NAME}):")
_SYMBOL = re.compile(rf"@({_NAME})")
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
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
FAST_MATH = frozenset(["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"])
_FLAGS = FAST_MATH | frozenset(
    ["nuw", "nsw", "exact", "inbounds", "disjoint", "nneg", "samesign", "nusw"]
)
BINARY = frozenset(
    [
        "add",
        "sub",
        "mul",
        "udiv",
        "sdiv",
        "urem",
        "srem",
        "shl",
        "lshr",
        "ashr",
        "and",
        "or",
        "xor",
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "frem",
    ]
)
CASTS = frozenset(
    [
        "zext",
        "sext",
        "trunc",
        "fptrunc",
        "fpext",
        "uitofp",
        "sitofp",
        "fptoui",
        "fptosi",
        "bitcast",
        "ptrtoint",
        "ptrtoaddr",
        "inttoptr",
        "addrspacecast",
    ]
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

    def skip_attributes(self) -> None:
        """Parameter attributes: words, each maybe with a number or a bracketed group."""
        while True:
            word = self.peek_word()
            if not word or word in _PLAIN_VALUES or word in _EXPRESSIONS or self.at_type():
                return
            self.at += len(word)
            if self.peek("("):
                self.balanced()
            elif word == "align":
                self.space()
                self.value()

    def flags(self) -> str:
        found = []
        while (word := self.peek_word()) in _FLAGS:
            self.at += len(word)
            if self.peek("("):  # inrange of getelementptr
                self.balanced()
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


def parse_module(text: str) -> Module:
    module = Module([], [], {}, {}, {}, {})
    lines = text.split("\n")
    type_lines: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("define "):
            body = [line]
            while lines[at] != "}":
                body.append(lines[at])
                at += 1
            at += 1
            module.definitions[_symbol(line)] = "\n".join([*body, "}"])
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
    _resolve_types(type_lines, module.types)
    return module


def _symbol(line: str) -> str:
    match = _SYMBOL.search(line)
    if not match:
        raise UnsupportedIR("a function without a name", line)
    return match.group(1).strip('"')


def _strip_metadata(line: str) -> str:
    cut = line.find(", !")
    if cut >= 0:
        line = line[:cut]
    cut = line.find(" !dbg")
    return line[:cut] if cut >= 0 else line


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


class _FunctionParser:
    def __init__(self, module: Module, text: str) -> None:
        self.module = module
        self.lines = text.split("\n")

    def parse(self) -> Function:
        head = self.lines[0]
        cursor = Cursor(head, self.module.types)
        match = _SYMBOL.search(head)
        assert match
        cursor.at = match.end()
        cursor.expect("(")
        arguments: list[Operand] = []
        unnamed = 0
        while not cursor.accept(")"):
            kind = cursor.type()
            cursor.skip_attributes()
            name = cursor.local() if cursor.peek("%") else f"%{unnamed}"
            unnamed += name[1:].isdigit()
            arguments.append(Operand(kind, name))
            cursor.accept(",")
        groups = re.findall(r"#\d+", head[cursor.at :])
        attributes = " ".join(self.module.attributes.get(group, "") for group in groups)
        quoted = re.findall(r'"[^"]*"="[^"]*"', attributes)
        blocks = self._blocks(f"%{unnamed}")
        return Function(match.group(1).strip('"'), arguments, blocks, " ".join(quoted))

    def _blocks(self, first: str) -> dict[str, Block]:
        blocks: dict[str, Block] = {}
        block: Block | None = None
        lines = iter(self.lines[1:-1])
        for raw in lines:
            line = raw.strip()
            if not line or line[0] in ";#":
                continue
            if raw[0] != " " and (match := _LABEL_LINE.match(raw)):
                block = blocks["%" + match.group(1)] = Block("%" + match.group(1))
                continue
            if block is None:
                block = blocks[first] = Block(first)
            if line.startswith("switch ") and not line.endswith("]"):
                for more in lines:
                    line += " " + more.strip()
                    if more.strip().startswith("]"):
                        break
            block.instructions.append(self._instruction(line))
        for block in blocks.values():
            if not block.instructions:
                raise UnsupportedIR("an empty block", block.name)
        return blocks

    def _instruction(self, line: str) -> Instruction:
        cut = line.find(", !")
        if cut >= 0:
            line = line[:cut]
        cursor = Cursor(line, self.module.types)
        result = ""
        if line[0] == "%":
            result = cursor.local()
            cursor.expect("=")
        op = cursor.word()
        if op in ("tail", "musttail", "notail"):
            op = cursor.word()
        instruction = Instruction(op, result=result, text=line)
        if op in BINARY:
            self._same_type(cursor, instruction)
        elif op in CASTS:
            instruction.flags = cursor.flags()
            instruction.operands = [cursor.operand()]
            cursor.expect("to")
            instruction.type = cursor.type()
        else:
            reader = getattr(self, "_read_" + op, None)
            if reader is None:
                raise UnsupportedIR("an instruction the pass does not know", line)
            reader(cursor, instruction)
        return instruction

    def _same_type(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.flags = cursor.flags()
        first = cursor.operand()
        cursor.expect(",")
        instruction.operands = [first, Operand(first.type, cursor.value())]
        instruction.type = first.type

    def _list(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.flags = cursor.flags()
        instruction.operands = [cursor.operand()]
        while cursor.accept(","):
            if cursor.peek_word() == "align":
                return
            instruction.operands.append(cursor.operand())

    def _read_fneg(self, cursor: Cursor, instruction: Instruction) -> None:
        self._list(cursor, instruction)
        instruction.type = instruction.operands[0].type

    _read_freeze = _read_fneg

    def _read_icmp(self, cursor: Cursor, instruction: Instruction) -> None:
        flags = cursor.flags()
        instruction.detail = cursor.word()
        self._same_type(cursor, instruction)
        instruction.flags = flags
        compared = instruction.type
        instruction.type = I1
        if compared.kind == "vector":
            text = f"<{compared.count} x i1>"
            instruction.type = Type("vector", text, count=compared.count, members=(I1,))

    _read_fcmp = _read_icmp

    def _read_select(self, cursor: Cursor, instruction: Instruction) -> None:
        self._list(cursor, instruction)
        instruction.type = instruction.operands[1].type

    def _read_phi(self, cursor: Cursor, instruction: Instruction) -> None:
        cursor.flags()
        instruction.type = cursor.type()
        while cursor.accept("["):
            instruction.operands.append(Operand(instruction.type, cursor.value()))
            cursor.expect(",")
            instruction.targets.append(cursor.local())
            cursor.expect("]")
            cursor.accept(",")

    def _read_br(self, cursor: Cursor, instruction: Instruction) -> None:
        if not cursor.peek("label"):
            instruction.operands = [cursor.operand()]
            cursor.expect(",")
        while cursor.accept("label"):
            instruction.targets.append(cursor.local())
            cursor.accept(",")

    def _read_switch(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.operands = [cursor.operand()]
        cursor.expect(",")
        cursor.expect("label")
        instruction.targets = [cursor.local()]
        cursor.expect("[")
        while not cursor.accept("]"):
            instruction.cases.append(cursor.operand().value)
            cursor.expect(",")
            cursor.expect("label")
            instruction.targets.append(cursor.local())

    def _read_ret(self, cursor: Cursor, instruction: Instruction) -> None:
        if not cursor.accept("void"):
            instruction.operands = [cursor.operand()]

    def _read_unreachable(self, cursor: Cursor, instruction: Instruction) -> None:
        pass

    def _access(self, cursor: Cursor, instruction: Instruction) -> None:
        while (word := cursor.peek_word()) in ("atomic", "volatile"):
            cursor.at += len(word)
            if word == "volatile":
                instruction.volatile = True
            else:
                instruction.ordering = "monotonic"

    def _ordering(self, cursor: Cursor, instruction: Instruction) -> None:
        if cursor.accept("syncscope"):
            cursor.balanced()
        if cursor.peek_word():
            instruction.ordering = cursor.word()

    def _read_load(self, cursor: Cursor, instruction: Instruction) -> None:
        self._access(cursor, instruction)
        instruction.type = cursor.type()
        cursor.expect(",")
        instruction.operands = [cursor.operand()]
        if instruction.ordering:
            self._ordering(cursor, instruction)

    def _read_store(self, cursor: Cursor, instruction: Instruction) -> None:
        self._access(cursor, instruction)
        value = cursor.operand()
        cursor.expect(",")
        instruction.operands = [value, cursor.operand()]
        if instruction.ordering:
            self._ordering(cursor, instruction)

    def _read_atomicrmw(self, cursor: Cursor, instruction: Instruction) -> None:
        self._access(cursor, instruction)
        instruction.detail = cursor.word()
        address = cursor.operand()
        cursor.expect(",")
        instruction.operands = [address, cursor.operand()]
        instruction.type = instruction.operands[1].type
        self._ordering(cursor, instruction)

    def _read_cmpxchg(self, cursor: Cursor, instruction: Instruction) -> None:
        while cursor.peek_word() in ("weak", "volatile"):
            cursor.word()
        instruction.operands = [cursor.operand()]
        while cursor.accept(","):
            instruction.operands.append(cursor.operand())
        compared = instruction.operands[1].type
        instruction.type = Type("struct", f"{{ {compared.text}, i1 }}", members=(compared, I1))
        self._ordering(cursor, instruction)
        instruction.ordering += " " + cursor.word()

    def _read_fence(self, cursor: Cursor, instruction: Instruction) -> None:
        self._ordering(cursor, instruction)

    def _read_alloca(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.type = PTR
        instruction.source = cursor.type()
        if cursor.accept(",") and not cursor.peek("align"):
            count = cursor.operand()
            if not count.value.isdigit():
                raise instruction.unsupported("an alloca whose size is not constant")
            instruction.source = Type(
                "array",
                f"[{count.value} x {instruction.source.text}]",
                count=int(count.value),
                members=(instruction.source,),
            )

    def _read_getelementptr(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.flags = cursor.flags()
        instruction.source = cursor.type()
        cursor.expect(",")
        self._list(cursor, instruction)
        instruction.type = PTR

    def _read_extractvalue(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.operands = [cursor.operand()]
        instruction.indices = self._numbers(cursor)
        kind = instruction.operands[0].type
        for index in instruction.indices:
            kind = kind.member(index)
        instruction.type = kind

    def _read_insertvalue(self, cursor: Cursor, instruction: Instruction) -> None:
        aggregate = cursor.operand()
        cursor.expect(",")
        instruction.operands = [aggregate, cursor.operand()]
        instruction.indices = self._numbers(cursor)
        instruction.type = aggregate.type

    def _numbers(self, cursor: Cursor) -> list[int]:
        numbers = []
        while cursor.accept(","):
            cursor.space()
            numbers.append(int(cursor.value()))
        return numbers

    def _read_extractelement(self, cursor: Cursor, instruction: Instruction) -> None:
        self._list(cursor, instruction)
        instruction.type = instruction.operands[0].type.members[0]

    def _read_insertelement(self, cursor: Cursor, instruction: Instruction) -> None:
        self._list(cursor, instruction)
        instruction.type = instruction.operands[0].type

    def _read_shufflevector(self, cursor: Cursor, instruction: Instruction) -> None:
        self._list(cursor, instruction)
        mask = instruction.operands.pop()
        leaves = parse_constant(mask.value, mask.type, self.module.types)
        instruction.indices = [
            -1 if leaf.value in ("poison", "undef") else int(leaf.value) for leaf in leaves
        ]
        element = instruction.operands[0].type.members[0]
        count = mask.type.count
        text = f"<{count} x {element.text}>"
        instruction.type = Type("vector", text, count=count, members=(element,))

    def _read_call(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.flags = cursor.flags()
        while not cursor.at_type():  # calling convention and attributes of the result
            word = cursor.word()
            if cursor.peek("("):
                cursor.balanced()
            elif word == "align":
                cursor.space()
                cursor.value()
        instruction.type = cursor.type()
        if cursor.peek("("):
            cursor.balanced()  # the function type of a call to a variadic function
        if not cursor.peek("@"):
            raise instruction.unsupported("a call through a pointer")
        instruction.detail = cursor.value()[1:].strip('"')
        cursor.expect("(")
        while not cursor.accept(")"):
            kind = cursor.type()
            if kind == METADATA:
                cursor.at = cursor.text.rindex(")")
                continue
            cursor.skip_attributes()
            instruction.operands.append(Operand(kind, cursor.value()))
            cursor.accept(",")
