"""8x8 matrices spread over 32 lanes: every access is a constant shuffle of two vectors.

The layout is that of lanes.h: lane bits b4..b0 hold row (b4,b2,b1), columns 2*(b3,b0) and the next.
"""

from __future__ import annotations

from collections.abc import Callable

from openmps.emit.ir import FLOAT, I16, Instruction, Operand, Type
from openmps.emit.lane_values import Values, indices, vector
from openmps.emit.private import WIDTH

SIDE = 8


def row_of(lane: int) -> int:
    return (lane >> 4 & 1) << 2 | (lane >> 2 & 1) << 1 | (lane >> 1 & 1)


def column_of(lane: int) -> int:
    return ((lane >> 3 & 1) << 1 | (lane & 1)) << 1


def holder_of(row: int, column: int) -> tuple[int, int]:
    """The lane that holds an element, and as which of its two."""
    pair = column >> 1
    lane = (row >> 2) << 4 | (pair >> 1) << 3 | (row >> 1 & 1) << 2 | (row & 1) << 1 | (pair & 1)
    return lane, column & 1


class Matrices:
    def __init__(self, values: Values) -> None:
        self.values = values
        self.out = values.out

    def emit(self, i: Instruction) -> None:
        name = i.detail
        if name == "openmps_matrix_multiply_f32":
            self._multiply(i)
        elif name.startswith("openmps_matrix_load_"):
            self._load(i, FLOAT if name.endswith("f32") else I16)
        elif name.startswith("openmps_matrix_store_"):
            self._store(i, FLOAT if name.endswith("f32") else I16)
        else:
            raise i.unsupported("a matrix function the pass does not know")

    def _multiply(self, i: Instruction) -> None:
        values = self.values
        left, right = i.operands[:2], i.operands[2:4]
        whole = vector(FLOAT)
        element = i.operands[5]

        def product(which: int) -> str:
            total = values.vector(i.operands[4])
            for k in range(SIDE):
                rows = [holder_of(row_of(lane), k)[0] for lane in range(WIDTH)]
                columns = [holder_of(k, column_of(lane))[0] for lane in range(WIDTH)]
                a = values.shuffle(FLOAT, values.vector(left[k & 1]), rows)
                b = values.shuffle(FLOAT, values.vector(right[which]), columns)
                total = self.out.call(
                    whole, f"llvm.fma.v{WIDTH}f32", [(whole, a), (whole, b), (whole, total)]
                )
            return total

        values.define_vector(i, self._by_element(element, FLOAT, product))

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
        values, out = self.values, self.out
        part = vector(kind, SIDE)
        pieces = [
            out.let(f"load {part}, ptr {row}, align 1") for row in self._rows(base, pitch, kind)
        ]
        count = SIDE
        while len(pieces) > 1:
            whole = vector(kind, count)
            order = indices(range(2 * count))
            pieces = [
                out.let(f"shufflevector {whole} {a}, {whole} {b}, {order}")
                for a, b in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            count *= 2

        def chosen(which: int) -> str:
            def order(turned: bool) -> list[int]:
                found = []
                for lane in range(WIDTH):
                    row, column = row_of(lane), column_of(lane) + which
                    found.append(column * SIDE + row if turned else row * SIDE + column)
                return found

            return self._turned(
                transpose, kind, lambda t: values.shuffle(kind, pieces[0], order(t), 64)
            )

        values.define_vector(i, self._by_element(element, kind, chosen))

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
