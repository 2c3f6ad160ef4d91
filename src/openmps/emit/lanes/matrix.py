"""8x8 matrices spread over 32 lanes, two elements a lane: lane_rows tells which.

With AVX-512 a product is made of shuffles of whole matrices; elsewhere it is computed on rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from openmps.emit.ir.model import FLOAT, I16, Function, Instruction, Operand, Type
from openmps.emit.lanes.matrix_rows import (
    MULTIPLY,
    SIDE,
    MatrixRows,
    column_of,
    holder_of,
    products,
    row_of,
)
from openmps.emit.lanes.values import Values, indices, vector
from openmps.emit.lanes.width import WIDTH

# Rows of two products that are summed up at once: their eight registers are half of what there is.
_ROWS_AT_ONCE = 4
Product = tuple[Instruction, Instruction]


class Matrices:
    def __init__(self, values: Values, function: Function, rows: MatrixRows) -> None:
        self.values = values
        self.function = function
        self.rows = rows
        self.out = values.out

    def emit(self, i: Instruction) -> None:
        name = i.detail
        if name == MULTIPLY:
            self._multiply(i)
        elif name.startswith("openmps_matrix_load_"):
            self._load(i, FLOAT if name.endswith("f32") else I16)
        elif name.startswith("openmps_matrix_store_"):
            self._store(i, FLOAT if name.endswith("f32") else I16)
        else:
            raise i.unsupported("a matrix function the pass does not know")

    def _multiply(self, i: Instruction) -> None:
        values = self.values
        left, right, total, element = i.operands[:2], i.operands[2:4], i.operands[4], i.operands[5]
        if not self.rows.used:
            text = self._by_element(
                element, FLOAT, lambda which: self._multiply_in_registers(left, right[which], total)
            )
        elif f"matrix {i.result}" in values.cache or self._multiply_together(i):
            text = values.cache[f"matrix {i.result}"]
        else:
            (rows,) = self._multiply_rows(i, [right], [(total, total)])
            text = self._by_element(element, FLOAT, lambda which: self.rows.to_lanes(rows, which))
        values.define_vector(i, text)

    def _multiply_together(self, i: Instruction) -> bool:
        """Both elements of each lane at once, and of the next product that has the same left
        matrix: what is loaded of that serves both."""
        instructions = self.function.blocks[self.values.block].instructions
        here = next(k for k, each in enumerate(instructions) if each is i)
        unknown = {each.result for each in instructions[here:]}

        def ready(product: Product) -> bool:
            needed = {o.value for each in product for o in each.operands}
            return not needed & unknown

        together = [pair for pair in products(instructions[here:]) if ready(pair)]
        if not together or together[0][0] is not i:
            return False
        chosen = [pair for pair in together if pair[0].operands[:2] == i.operands[:2]][:2]
        results = self._multiply_rows(
            i,
            [first.operands[2:4] for first, _ in chosen],
            [(first.operands[4], second.operands[4]) for first, second in chosen],
        )
        for (first, second), rows in zip(chosen, results, strict=True):
            self.rows.define(first, second, rows)
        return True

    def _multiply_in_registers(
        self, left: Sequence[Operand], right: Operand, total: Operand
    ) -> str:
        values = self.values
        whole = vector(FLOAT)
        text = values.vector(total)
        for k in range(SIDE):
            rows = [holder_of(row_of(lane), k)[0] for lane in range(WIDTH)]
            columns = [holder_of(k, column_of(lane))[0] for lane in range(WIDTH)]
            a = values.shuffle(FLOAT, values.vector(left[k & 1]), rows)
            b = values.shuffle(FLOAT, values.vector(right), columns)
            text = self.out.call(
                whole, f"llvm.fma.v{WIDTH}f32", [(whole, a), (whole, b), (whole, text)]
            )
        return text

    def _multiply_rows(
        self,
        i: Instruction,
        rights: Sequence[Sequence[Operand]],
        totals: Sequence[tuple[Operand, Operand]],
    ) -> list[list[str]]:
        """The rows of one product or of two; `i` has the left matrix."""
        values, out = self.values, self.out
        row = vector(FLOAT, SIDE)
        left_place = self._in_memory(i.operands[:2], i)
        right_places = [self._in_memory(right, i) for right in rights]
        sums = [list(self.rows.of(*total)) for total in totals]
        count = SIDE if len(rights) == 1 else _ROWS_AT_ONCE
        for first in range(0, SIDE, count):
            # Or LLVM would keep what it has loaded for later, and have no registers left.
            out.line('call void asm sideeffect "", "~{memory}"()')
            for k in range(SIDE):
                bs = [self._load_at(place, k, 0, row) for place in right_places]
                for r in range(first, first + count):
                    a = values.splat(FLOAT, self._load_at(left_place, r, k, "float"), SIDE)
                    for b, texts in zip(bs, sums, strict=True):
                        arguments = [(row, a), (row, b), (row, texts[r])]
                        texts[r] = out.call(row, f"llvm.fma.v{SIDE}f32", arguments)
        return sums

    def _in_memory(self, matrix: Sequence[Operand], user: Instruction) -> tuple[str, int]:
        """Where its rows lie, and how many elements lie between one and the next."""
        first, second = matrix
        key = f"in memory {first.value} {second.value}"
        source = self._source(matrix, user)
        if source is not None:
            return self.values.cache[f"loaded from {first.value}"], source
        if key not in self.values.cache:
            rows = self.rows.of(first, second)
            slot = self.values.cache[key] = self.out.alloca(f"[{SIDE * SIDE} x float]")
            row = vector(FLOAT, SIDE)
            for k, text in enumerate(rows):
                address = self.out.let(f"getelementptr float, ptr {slot}, i64 {SIDE * k}")
                self.out.line(f"store {row} {text}, ptr {address}, align {4 * SIDE}")
            # Or LLVM would turn the loads back into shuffles.
            self.out.line(f'call void asm sideeffect "", "r,~{{memory}}"(ptr {slot})')
        return self.values.cache[key], SIDE

    def _source(self, matrix: Sequence[Operand], user: Instruction) -> int | None:
        """The distance of rows where it was loaded from, if it still lies there."""
        first = matrix[0].value
        if f"loaded from {first}" not in self.values.cache:
            return None
        instructions = self.function.blocks[self.values.block].instructions
        begin = next(k for k, each in enumerate(instructions) if each.result == first)
        end = next(k for k, each in enumerate(instructions) if each is user)
        load = instructions[begin]
        same = instructions[begin + 1].result == matrix[1].value
        pitch = load.operands[1].value
        if not same or not pitch.isdigit() or any(map(_may_write, instructions[begin:end])):
            return None
        return int(pitch)

    def _load_at(self, place: tuple[str, int], row: int, column: int, kind: str) -> str:
        start, pitch = place
        address = self.out.let(f"getelementptr float, ptr {start}, i64 {row * pitch + column}")
        return self.out.let(f"load {kind}, ptr {address}, align 1")

    def _by_element(self, element: Operand, kind: Type, make: Callable[[int], str]) -> str:
        if element.value.isdigit():
            return make(int(element.value) & 1)
        both = [make(0), make(1)]
        # Unoptimised code passes the constant through memory.
        second = self.out.let(f"icmp ne i32 {self.values.at_first(element)}, 0")
        whole = vector(kind)
        return self.out.let(f"select i1 {second}, {whole} {both[1]}, {whole} {both[0]}")

    def _rows(self, base: Operand, pitch: Operand, kind: Type) -> list[str]:
        """The address of each row in memory."""
        start = self.values.at_first(base)
        step = self.values.at_first(pitch)
        rows = [start]
        for k in range(1, SIDE):
            at = self.out.let(f"mul i64 {step}, {k}")
            rows.append(self.out.let(f"getelementptr {kind.text}, ptr {start}, i64 {at}"))
        return rows

    def _load(self, i: Instruction, kind: Type) -> None:
        base, pitch, transpose, element = i.operands
        if f"matrix {i.result}" not in self.values.cache:
            rows = self._rows(base, pitch, kind)
            pair = self._loaded_together(i) if kind == FLOAT and self.rows.used else None
            if pair is None:
                text = self._by_element(
                    element,
                    kind,
                    lambda which: self._turned(
                        transpose, kind, lambda turned: self._shuffled(kind, rows, which, turned)
                    ),
                )
                self.values.define_vector(i, text)
                return
            part = vector(kind, SIDE)
            loaded = [self.out.let(f"load {part}, ptr {row}, align 1") for row in rows]
            self.rows.define(*pair, loaded)
            self.values.cache[f"loaded from {i.result}"] = rows[0]
        self.values.define_vector(i, self.values.cache[f"matrix {i.result}"])

    def _loaded_together(self, i: Instruction) -> Product | None:
        """The loads of each lane's first and second element of a matrix that lies row by row, the
        other being the next instruction."""
        instructions = self.function.blocks[self.values.block].instructions
        here = next(k for k, each in enumerate(instructions) if each is i)
        other = instructions[here + 1]  # a block's last is a branch
        if other.detail != i.detail or other.operands[:3] != i.operands[:3]:
            return None
        elements = i.operands[3].value, other.operands[3].value
        if i.operands[2].value != "false" or elements != ("0", "1"):
            return None
        return i, other

    def _shuffled(self, kind: Type, rows: Sequence[str], which: int, turned: bool) -> str:
        """A matrix in memory, or one that lies there transposed, whole."""
        part = vector(kind, SIDE)
        loaded = [self.out.let(f"load {part}, ptr {row}, align 1") for row in rows]
        places = [(row_of(lane), column_of(lane) + which) for lane in range(WIDTH)]
        order = [c * SIDE + r if turned else r * SIDE + c for r, c in places]
        whole = self.values.joined(kind, loaded, SIDE)
        return self.values.shuffle(kind, whole, order, SIDE * SIDE)

    def _turned(
        self, transpose: Operand, kind: Type, make: Callable[[bool], str], count: int = WIDTH
    ) -> str:
        if transpose.value in ("true", "false"):
            return make(transpose.value == "true")
        both = [make(False), make(True)]
        turned = self.values.at_first(transpose)
        whole = vector(kind, count)
        return self.out.let(f"select i1 {turned}, {whole} {both[1]}, {whole} {both[0]}")

    def _store(self, i: Instruction, kind: Type) -> None:
        first, second, base, pitch, transpose = i.operands
        values, out = self.values, self.out
        if kind == FLOAT and self.rows.used and transpose.value == "false":
            matrix_rows = self.rows.of(first, second)
            for text, row in zip(matrix_rows, self._rows(base, pitch, kind), strict=True):
                out.line(f"store {vector(kind, SIDE)} {text}, ptr {row}, align 1")
            return
        whole = vector(kind)
        a, b = values.vector(first), values.vector(second)

        def rows(turned: bool) -> str:
            order = []
            for place in range(SIDE * SIDE):
                row, column = divmod(place, SIDE)
                if turned:
                    row, column = column, row
                lane, which = holder_of(row, column)
                order.append(which * WIDTH + lane)
            return out.let(f"shufflevector {whole} {a}, {whole} {b}, {indices(order)}")

        matrix = self._turned(transpose, kind, rows, SIDE * SIDE)
        for k, row in enumerate(self._rows(base, pitch, kind)):
            part = values.shuffle(kind, matrix, range(SIDE * k, SIDE * (k + 1)), SIDE * SIDE)
            out.line(f"store {vector(kind, SIDE)} {part}, ptr {row}, align 1")


def _may_write(i: Instruction) -> bool:
    if i.op == "call":
        reads = ("openmps_matrix_load_", MULTIPLY)
        return not i.detail.startswith(reads) and (
            not i.detail.startswith("llvm.") or i.detail.startswith("llvm.mem")
        )
    return i.op in ("store", "atomicrmw", "cmpxchg", "fence")
