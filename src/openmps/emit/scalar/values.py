"""The function under construction when every value becomes a scalar: its blocks, and what each
value of the original is made of."""

from __future__ import annotations

from openmps.emit.ir.model import (
    PTR,
    VOID,
    Block,
    Instruction,
    Module,
    Operand,
    Type,
    UnsupportedIR,
)
from openmps.emit.ir.text import parse_constant


def leaves_of(kind: Type, at: int = 0) -> list[tuple[Type, int]]:
    """Each scalar in a type, with the byte where it begins."""
    if kind.scalar:
        return [(kind, at)]
    found = []
    for index in range(kind.length):
        found += leaves_of(kind.member(index), at + kind.offset(index))
    return found


def integer_constant(operand: Operand) -> int | None:
    value = operand.value
    if value in ("true", "false"):
        return int(value == "true")
    if value in ("zeroinitializer", "null", "undef", "poison"):
        return 0
    return int(value) if value.lstrip("-").isdigit() else None


class Scalars:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.parts: dict[str, list[Operand]] = {}  # composite values
        self.same: dict[str, Operand] = {}  # scalar results that are another value
        self.blocks: dict[str, Block] = {}
        self.block = Block("")  # the one that is being written
        self.fresh = 0

    def resolve(self, operand: Operand) -> Operand:
        while operand.value in self.same:
            operand = self.same[operand.value]
        return operand

    def leaves(self, operand: Operand) -> list[Operand]:
        if operand.type.scalar:
            return [self.resolve(operand)]
        if operand.value in self.parts:
            return self.parts[operand.value]
        if operand.value.startswith(("%", "@")):
            raise UnsupportedIR("a composite value used before its definition", operand.value)
        return parse_constant(operand.value, operand.type, self.module.types)

    def name(self) -> str:
        self.fresh += 1
        return f"%.s{self.fresh}"

    def emit(
        self, op: str, kind: Type, operands: list[Operand], *, detail: str = "", flags: str = ""
    ) -> Operand:
        instruction = Instruction(op, kind, "", operands, flags, detail)
        instruction.text = f"{op} {detail}"
        if kind != VOID:
            instruction.result = self.name()
        self.keep(instruction)
        return Operand(kind, instruction.result)

    def keep(self, instruction: Instruction) -> None:
        self.block.instructions.append(instruction)

    def define(self, instruction: Instruction, leaves: list[Operand]) -> None:
        if instruction.type.scalar:
            self.same[instruction.result] = leaves[0]
        else:
            self.parts[instruction.result] = leaves

    def address(self, base: Operand, offset: int) -> Operand:
        if not offset:
            return base
        return self.ptradd(base, [], [], offset)

    def ptradd(
        self, base: Operand, indices: list[Operand], scales: list[int], offset: int
    ) -> Operand:
        instruction = Instruction("ptradd", PTR, self.name(), [base, *indices])
        instruction.indices = scales
        instruction.offset = offset
        self.keep(instruction)
        return Operand(PTR, instruction.result)
