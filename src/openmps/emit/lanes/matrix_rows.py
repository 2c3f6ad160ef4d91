"""8x8 matrices of floats as eight rows, beside the two vectors that hold their elements by lane.

Without AVX-512 the layout by lane costs shuffles at every step, so products are computed on rows.
A sum that goes round a loop must stay in rows: a phi of two elements has a place for rows, too.
What nobody reads in the end, rows or lanes, LLVM removes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from openmps.emit.ir.model import FLOAT, Block, Function, Instruction, Operand
from openmps.emit.lanes.values import Values, indices, vector
from openmps.emit.lanes.width import WIDTH

SIDE = 8
MULTIPLY = "openmps_matrix_multiply_f32"


def row_of(lane: int) -> int:
    """As in lanes.h: of a lane's bits, b4, b2 and b1 are the row."""
    return (lane >> 4 & 1) << 2 | (lane >> 2 & 1) << 1 | (lane >> 1 & 1)


def column_of(lane: int) -> int:
    """Twice its bits b3 and b0, for the first of its two elements; the second is in the next."""
    return ((lane >> 3 & 1) << 1 | (lane & 1)) << 1


def holder_of(row: int, column: int) -> tuple[int, int]:
    """The lane that holds an element, and as which of its two."""
    pair = column >> 1
    lane = (row >> 2) << 4 | (pair >> 1) << 3 | (row >> 1 & 1) << 2 | (row & 1) << 1 | (pair & 1)
    return lane, column & 1


class MatrixRows:
    def __init__(self, values: Values, function: Function) -> None:
        self.values = values
        self.out = values.out
        self.function = function
        # AVX-512 has room for whole matrices, and shuffles of two registers.
        self.used = values.register_bits < 512
        self._rows: dict[tuple[str, str], Sequence[str]] = {}
        self._phis = self._find_phis() if self.used else {}
        self._phi_slots: dict[str, list[str]] = {}

    # Reading and defining

    def of(self, first: Operand, second: Operand) -> Sequence[str]:
        """The rows of the matrix that has these as its lanes' two elements."""
        values = self.values
        key = first.value, second.value
        if key in self._rows:
            home = values.lanes.block_of[first.value]
            if home == values.block or values.reads_directly(home, values.block):
                return self._rows[key]
        return self.from_lanes(values.vector(first), values.vector(second))

    def define(self, first: Instruction, second: Instruction, rows: Sequence[str]) -> None:
        """Of `first` the elements by lane are defined now, of `second` when its turn comes."""
        self._rows[first.result, second.result] = rows
        by_element = first, second
        for which, i in enumerate(by_element):
            self.values.cache[f"matrix {i.result}"] = self.to_lanes(rows, which)

    def from_lanes(self, first: str, second: str) -> list[str]:
        whole = vector(FLOAT)
        rows = []
        for row in range(SIDE):
            places = [holder_of(row, column) for column in range(SIDE)]
            order = indices([which * WIDTH + lane for lane, which in places])
            rows.append(self.out.let(f"shufflevector {whole} {first}, {whole} {second}, {order}"))
        return rows

    def to_lanes(self, rows: Sequence[str], which: int) -> str:
        whole = self.values.joined(FLOAT, rows, SIDE)
        order = [row_of(lane) * SIDE + column_of(lane) + which for lane in range(WIDTH)]
        return self.values.shuffle(FLOAT, whole, order, SIDE * SIDE)

    # Around loops

    def read_phi(self, i: Instruction) -> None:
        second = self._phis.get(i.result)
        if second is not None:
            slots = self._slots(i.result)
            row = vector(FLOAT, SIDE)
            loaded = [self.out.let(f"load {row}, ptr {slot}") for slot in slots]
            self._rows[i.result, second.result] = loaded

    def phi_updates(self, source: str, target: str, blended: Mapping[str, str]) -> Iterator[str]:
        """The stores that bring rows up to date; `blended` has the phis that not all lanes write,
        with what they then hold."""
        for phi in self.function.blocks[target].phis():
            second = self._phis.get(phi.result)
            if second is None:
                continue
            if phi.result in blended:
                rows: Sequence[str]
                rows = self.from_lanes(blended[phi.result], blended[second.result])
            else:
                place = phi.targets.index(source)
                rows = self.of(phi.operands[place], second.operands[place])
            for row, slot in zip(rows, self._slots(phi.result), strict=True):
                yield f"store {vector(FLOAT, SIDE)} {row}, ptr {slot}"

    def _slots(self, name: str) -> list[str]:
        if name not in self._phi_slots:
            kind = vector(FLOAT, SIDE)
            self._phi_slots[name] = [self.out.alloca(kind) for _ in range(SIDE)]
        return self._phi_slots[name]

    def _find_phis(self) -> dict[str, Instruction]:
        """The phis that hold a lane's first element of a sum, with those that hold its second."""
        defined, block_of = self.values.defined, self.values.lanes.block_of
        found: dict[str, Instruction] = {}
        waiting = [pair for block in self.function.blocks.values() for pair in _sums(block)]
        while waiting:
            first, second = (defined.get(operand.value) for operand in waiting.pop())
            if (
                first is None
                or second is None
                or first.op != "phi"
                or second.op != "phi"
                or first.result in found
                or first.targets != second.targets
                or block_of[first.result] != block_of[second.result]
            ):
                continue
            found[first.result] = second
            waiting += zip(first.operands, second.operands, strict=True)
        return found


def products(instructions: Sequence[Instruction]) -> Iterator[tuple[Instruction, Instruction]]:
    """The products of two whole matrices: the calls for a lane's first and second element."""
    firsts: dict[tuple[Operand, ...], Instruction] = {}
    for i in instructions:
        if i.op != "call" or i.detail != MULTIPLY:
            continue
        factors = tuple(i.operands[:4])
        if i.operands[5].value == "0":
            firsts[factors] = i
        elif i.operands[5].value == "1" and factors in firsts:
            yield firsts.pop(factors), i


def _sums(block: Block) -> Iterator[tuple[Operand, Operand]]:
    for first, second in products(block.instructions):
        yield first.operands[4], second.operands[4]
