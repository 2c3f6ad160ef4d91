"""What is known of integers at compile time: how large they get, which low bits are zero, and
whether lanes can count on without wrapping."""

from __future__ import annotations

from openmps.emit.ir.model import Instruction, Operand
from openmps.emit.lanes.width import WIDTH


class Ranges:
    def __init__(self) -> None:
        self.bounds: dict[str, int] = {}
        self.zeros: dict[str, int] = {}  # low bits that are zero in lane 0's value
        self.exact: set[str] = set()  # active lanes never wrap, seen as unsigned

    def extends_exactly(self, operand: Operand, stride: int, signed: bool) -> bool:
        """Whether extending lane 0's value and counting on gives the same as extending each."""
        bound = self.bounds.get(operand.value)
        limit = 1 << (operand.type.bits - signed)
        if bound is not None and bound + abs(stride) * (WIDTH - 1) < limit:
            return True
        return not signed and operand.value in self.exact and stride == 1

    def copy(self, i: Instruction) -> None:
        source = i.operands[0].value
        if i.op == "trunc":
            # The bound must survive the cut.
            if self.bounds.get(source, 1 << 64) < (1 << i.type.bits):
                self.bounds[i.result] = self.bounds[source]
        elif source in self.bounds:
            self.bounds[i.result] = self.bounds[source]
        if source in self.zeros:
            self.zeros[i.result] = self.zeros[source]
        if i.op in ("freeze", "leave") and source in self.exact:
            self.exact.add(i.result)

    def zero_bits(self, operand: Operand) -> int:
        constant = constant_of(operand)
        if constant is not None:
            return (constant & -constant).bit_length() - 1 if constant else 64
        return self.zeros.get(operand.value, 0)

    def find_zeros(self, i: Instruction) -> None:
        if i.type.kind != "int" or len(i.operands) != 2:
            return
        left, right = (self.zero_bits(o) for o in i.operands)
        constant = constant_of(i.operands[1])
        zeros = 0
        if i.op in ("add", "sub", "or"):
            zeros = min(left, right)
        elif i.op == "mul":
            zeros = left + right
        elif i.op == "shl" and constant is not None:
            zeros = left + constant
        elif i.op == "and":
            zeros = max(left, right)
        if zeros:
            self.zeros[i.result] = min(zeros, 64)

    def _known_bound(self, operand: Operand) -> int | None:
        constant = constant_of(operand)
        if constant is not None:
            return constant if constant >= 0 else None
        return self.bounds.get(operand.value)

    def find_bound(self, i: Instruction) -> None:
        """An upper bound for every lane's value, seen as unsigned, also for lanes that are off."""
        if i.type.kind != "int" or i.result in self.bounds:
            return
        bound: int | None = None
        known = [self._known_bound(o) for o in i.operands]
        constant = constant_of(i.operands[1]) if len(i.operands) > 1 else None
        both = [b for b in known if b is not None] if None not in known else []
        if i.op == "load" and i.type.bits < 32:
            bound = (1 << i.type.bits) - 1
        elif i.op == "zext":
            bound = known[0] if known[0] is not None else (1 << i.operands[0].type.bits) - 1
        elif i.op == "and":
            candidates = [b for b in known if b is not None]
            bound = min(candidates, default=None)
        elif i.op == "urem" and constant is not None and constant > 0:
            bound = constant - 1
        elif i.op in ("lshr", "udiv") and known[0] is not None:
            bound = known[0] >> (constant or 0) if i.op == "lshr" else known[0]
        elif i.op == "lshr" and constant is not None:
            bound = ((1 << i.type.bits) - 1) >> constant
        elif i.op == "shl" and constant is not None and known[0] is not None:
            bound = known[0] << constant
        elif i.op in ("add", "or") and both:
            bound = sum(both)
        elif i.op == "mul" and both:
            bound = both[0] * both[1]
        elif i.op == "select" and known[1] is not None and known[2] is not None:
            bound = max(known[1], known[2])
        elif i.op == "call" and i.detail.startswith("llvm.umin."):
            bound = min((b for b in known if b is not None), default=None)
        elif i.op == "freeze":
            bound = known[0]
        elif i.op == "sext" and known[0] is not None:
            bound = known[0] if known[0] < 1 << (i.operands[0].type.bits - 1) else None
        if bound is not None and bound < (1 << i.type.bits):
            self.bounds[i.result] = bound


def constant_of(operand: Operand) -> int | None:
    value = operand.value
    return int(value) if value.lstrip("-").isdigit() else None
