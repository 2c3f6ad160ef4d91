"""The values of LLVM IR: types and their layout, instructions, blocks, functions, a module.

Knows nothing about lanes, and nothing about how IR is written (ir_text, ir_instructions).
"""

from __future__ import annotations

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
    # Of a call: what stands before the type of the result, and behind that of each operand, of
    # which the callee must know.
    convention: str = ""
    extensions: list[str] = field(default_factory=list)
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
    attributes: str  # safestack, and those in quotes, such as "target-cpu"="..."


@dataclass
class Module:
    header: list[str]  # target lines and named types
    globals: list[str]
    declarations: dict[str, str]  # by name
    definitions: dict[str, str]  # by name, the whole text
    attributes: dict[str, str]  # groups, by "#0"
    types: dict[str, Type]


FAST_MATH = frozenset(["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"])
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
