"""Block copies: memcpy, memmove and memset as loads and stores, or as a loop of them."""

from __future__ import annotations

from openmps.emit.ir.model import (
    I1,
    I8,
    I64,
    VOID,
    Block,
    Function,
    Instruction,
    Operand,
    Type,
    integer,
)
from openmps.emit.scalar.values import Scalars, integer_constant, leaves_of

# A longer copy becomes a loop.
_UNROLLED_ACCESSES = 64


class Copies:
    def __init__(self, out: Scalars, function: Function) -> None:
        self.out = out
        self.chunks = _copy_chunks(function)

    def write(self, instruction: Instruction, kind: str) -> None:
        target, source, size = instruction.operands[:3]
        count = integer_constant(size)
        chunk = self.chunks.get(target.value, 0) or self.chunks.get(source.value, 0)
        if count is None:
            if kind == "memmove":
                raise instruction.unsupported("a memmove whose size is not constant")
            self._loop(target, source, size, I8, kind)
            return
        chunk = chunk or 4
        while count % chunk:
            chunk //= 2
        unit = integer(8 * chunk)
        if count // chunk > _UNROLLED_ACCESSES:
            if kind == "memmove":
                raise instruction.unsupported("a long memmove")
            self._loop(target, source, Operand(I64, str(count)), unit, kind)
            return
        offsets = range(0, count, chunk)
        if kind == "memset":
            value = self._fill(source, unit)
            for at in offsets:
                self.out.emit("store", VOID, [value, self.out.address(target, at)])
            return
        values = [self.out.emit("load", unit, [self.out.address(source, at)]) for at in offsets]
        for at, value in zip(offsets, values, strict=True):
            self.out.emit("store", VOID, [value, self.out.address(target, at)])

    def _fill(self, byte: Operand, unit: Type) -> Operand:
        constant = integer_constant(byte)
        repeated = int("01" * (unit.bits // 8), 16)
        if constant is not None:
            return Operand(unit, str((constant & 0xFF) * repeated))
        wide = byte if unit.bits == 8 else self.out.emit("zext", unit, [byte])
        return self.out.emit("mul", unit, [wide, Operand(unit, str(repeated))])

    def _loop(self, target: Operand, source: Operand, size: Operand, unit: Type, kind: str) -> None:
        """Splits the block: what follows the copy goes on in a new one."""
        self.out.fresh += 1
        before, loop, after = self.out.block, f"%.copy{self.out.fresh}", f"%.copied{self.out.fresh}"
        if size.type != I64:
            size = self.out.emit("zext", I64, [size])
        value = self._fill(source, unit) if kind == "memset" else source
        some = self.out.emit("icmp", I1, [size, Operand(I64, "0")], detail="ne")
        before.instructions.append(Instruction("br", operands=[some], targets=[loop, after]))
        self.out.block = self.out.blocks[loop] = Block(loop)
        at, following = Operand(I64, self.out.name()), Operand(I64, self.out.name())
        phi = Instruction("phi", I64, at.value, [Operand(I64, "0"), following], detail="copy")
        phi.targets = [before.name, loop]
        self.out.keep(phi)
        if kind != "memset":
            value = self.out.emit("load", unit, [self.out.ptradd(source, [at], [1], 0)])
        self.out.emit("store", VOID, [value, self.out.ptradd(target, [at], [1], 0)])
        step = Operand(I64, str(unit.bits // 8))
        self.out.keep(Instruction("add", I64, following.value, [at, step]))
        more = self.out.emit("icmp", I1, [following, size], detail="ult")
        self.out.keep(Instruction("br", operands=[more], targets=[loop, after]))
        self.out.block = self.out.blocks[after] = Block(after)


def _copy_chunks(function: Function) -> dict[str, int]:
    """How wide the other accesses of each private array are, so that copies keep to that width."""
    root: dict[str, str] = {}
    widths: dict[str, int] = {}
    for block in function.blocks.values():
        for instruction in block.instructions:
            if instruction.op == "alloca":
                root[instruction.result] = instruction.result
            elif instruction.op == "getelementptr" and instruction.operands[0].value in root:
                root[instruction.result] = root[instruction.operands[0].value]
            elif instruction.op in ("load", "store"):
                address = instruction.operands[-1].value
                kind = (
                    instruction.type if instruction.op == "load" else instruction.operands[0].type
                )
                if address in root:
                    size = leaves_of(kind)[0][0].size
                    widths[root[address]] = min(widths.get(root[address], 8), size)
    return {name: widths[base] for name, base in root.items() if base in widths}
