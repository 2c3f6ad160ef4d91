"""Calls: the functions of lanes.h, LLVM's intrinsics, libm, and anything else lane by lane."""

from __future__ import annotations

import re

from openmps.emit.ir.model import FLOAT, I32, I64, VOID, Function, Instruction, Operand, Type
from openmps.emit.lanes import known_functions
from openmps.emit.lanes.each_lane import each_lane, item_of
from openmps.emit.lanes.matrix import Matrices
from openmps.emit.lanes.matrix_rows import MatrixRows
from openmps.emit.lanes.values import MASK, Values, mangled, vector
from openmps.emit.lanes.width import WIDTH

_KINDS = {"f32": FLOAT, "u32": I32, "u64": I64}
_REDUCE = re.compile(r"openmps_reduce_(\w+)_(f32|u32|u64)$")
_SCAN = re.compile(r"openmps_scan_(inclusive|exclusive)_(add|mul)_(f32|u32|u64)$")
_SHUFFLE = re.compile(r"openmps_shuffle_(u32|u64)$")
_INTRINSIC = re.compile(r"llvm\.([a-z0-9_.]+?)((?:\.(?:i\d+|f16|f32|f64|bf16|p0))*)$")
# Arguments that must stay a scalar constant, by intrinsic.
_FLAG_ARGUMENT = {"ctlz": 1, "cttz": 1, "abs": 1, "is.fpclass": 1, "powi": 1}
_TWO_TYPES = frozenset(["ldexp", "powi", "lrint", "llrint", "lround", "llround"])
_TWO_TYPES_SAT = frozenset(["fptosi.sat", "fptoui.sat"])


class Calls:
    def __init__(self, values: Values, function: Function, rows: MatrixRows) -> None:
        self.values = values
        self.out = values.out
        self.lanes = values.lanes
        self.matrices = Matrices(values, function, rows)

    def emit(self, i: Instruction) -> None:
        name = i.detail
        if name == known_functions.THREADGROUP_BARRIER:
            self.out.call("void", "openmps_lanes_barrier", [])
        elif name == known_functions.SIMDGROUP_BARRIER:
            self.out.call("void", "openmps_lanes_yield", [])
        elif name.startswith("openmps_matrix_"):
            self.matrices.emit(i)
        elif known_functions.is_lane_function(name):
            self._lane_function(i)
        elif name.startswith("llvm.trap") or name.startswith("llvm.debugtrap"):
            self.out.call("void", name, [])
        elif name.startswith("llvm.threadlocal.address"):
            self.values.define_scalar(i, self.out.threadgroup_variable(i.operands[0].value))
        elif i.type != VOID and self.lanes.strides[i.result] == 0:
            self._scalar(i)
        elif name.startswith("llvm."):
            self._intrinsic(i)
        elif base := known_functions.base_name(name):
            self._math(i, base)
        else:
            self._each_lane(i)

    # lanes.h

    def _lane_function(self, i: Instruction) -> None:
        name, values = i.detail, self.values
        if name == "openmps_lane":
            values.define_scalar(i, "0")
        elif name == "openmps_active":
            values.define_scalar(i, values.mask_bits(values.mask))
        elif name == "openmps_ballot":
            chosen = values.where(values.mask, values.vector(i.operands[0]))
            values.define_scalar(i, self.out.let(f"bitcast {MASK} {chosen} to i32"))
        elif match := _REDUCE.match(name):
            values.define_scalar(i, self._reduce(i, match.group(1), _KINDS[match.group(2)]))
        elif match := _SCAN.match(name):
            values.define_vector(i, self._scan(i, *match.groups()))
        elif match := _SHUFFLE.match(name):
            self._shuffle(i, _KINDS[match.group(1)])
        else:
            raise i.unsupported("a function of lanes.h the pass does not know")

    def _identity(self, i: Instruction, operation: str, kind: Type) -> str:
        if kind == FLOAT:
            return {"add": "-0.0", "mul": "1.0"}.get(operation, "0x7FF8000000000000")
        bits = kind.bits
        found = {
            "mul": 1,
            "and": -1,
            "umin": -1,
            "smin": (1 << (bits - 1)) - 1,
            "smax": -(1 << (bits - 1)),
        }
        return str(found.get(operation, 0))

    def _combine(self, operation: str, kind: Type, left: str, right: str, count: int) -> str:
        whole = vector(kind, count)
        if kind == FLOAT:
            if operation in ("min", "max"):
                return self.out.call(
                    whole, f"llvm.{operation}num.v{count}f32", [(whole, left), (whole, right)]
                )
            return self.out.let(f"f{operation} {whole} {left}, {right}")
        if operation in ("add", "mul", "and", "or", "xor"):
            return self.out.let(f"{operation} {whole} {left}, {right}")
        return self.out.call(
            whole, f"llvm.{operation}.v{count}{kind.text}", [(whole, left), (whole, right)]
        )

    def _active_or(self, operand: Operand, neutral: str) -> str:
        values = self.values
        text = values.vector(operand)
        return values.blend(operand.type, values.mask, text, values.splat(operand.type, neutral))

    def _reduce(self, i: Instruction, operation: str, kind: Type) -> str:
        neutral = self._identity(i, operation, kind)
        text = self._active_or(i.operands[0], neutral)
        count = WIDTH
        while count > 1:
            half = count // 2
            low = self.values.shuffle(kind, text, range(half), count)
            high = self.values.shuffle(kind, text, range(half, count), count)
            text = self._combine(operation, kind, low, high, half)
            count = half
        return self.out.let(f"extractelement {vector(kind, 1)} {text}, i64 0")

    def _scan(self, i: Instruction, form: str, operation: str, width: str) -> str:
        kind = _KINDS[width]
        values = self.values
        whole = vector(kind)
        text = self._active_or(i.operands[0], self._identity(i, operation, kind))
        distance = 1
        while distance < WIDTH:
            order = [max(lane - distance, 0) for lane in range(WIDTH)]
            shifted = values.shuffle(kind, text, order)
            summed = self._combine(operation, kind, shifted, text, WIDTH)
            keep = [lane if lane < distance else WIDTH + lane for lane in range(WIDTH)]
            inside = ", ".join(f"i32 {k}" for k in keep)
            text = self.out.let(
                f"shufflevector {whole} {text}, {whole} {summed}, <{WIDTH} x i32> <{inside}>"
            )
            distance *= 2
        if form == "inclusive":
            return text
        first = {"add": "0", "mul": "1"}[operation] + (".0" if kind == FLOAT else "")
        moved = values.shuffle(kind, text, [-1, *range(WIDTH - 1)])
        return self.out.let(f"insertelement {whole} {moved}, {kind.text} {first}, i64 0")

    def _shuffle(self, i: Instruction, kind: Type) -> None:
        values, out = self.values, self.out
        value, lane = i.operands
        if values.uniform(value):
            # Whoever is asked passes the same.
            if values.uniform(lane):
                values.define_scalar(i, values.scalar(value))
            else:
                values.define_vector(i, values.vector(value))
            return
        if values.uniform(lane):
            index = out.let(f"and i32 {values.scalar(lane)}, 31")
            values.define_scalar(i, values.at_lane(value, index))
            return
        constant = values.known_lanes(lane)
        text = values.vector(value)
        if constant is not None:
            values.define_vector(i, values.shuffle(kind, text, [k & 31 for k in constant]))
            return
        index = out.let(f"and {vector(I32)} {values.vector(lane)}, splat (i32 31)")
        slot = out.alloca(vector(kind))
        out.line(f"store {vector(kind)} {text}, ptr {slot}")
        pointers = out.let(f"getelementptr {kind.text}, ptr {slot}, {vector(I32)} {index}")
        values.define_vector(
            i,
            out.call(
                vector(kind),
                f"llvm.masked.gather.v{WIDTH}{mangled(kind)}.v{WIDTH}p0",
                [
                    (f"<{WIDTH} x ptr>", pointers),
                    ("i32", str(kind.size)),
                    (MASK, "splat (i1 true)"),
                    (vector(kind), "poison"),
                ],
            ),
        )

    # Everything else

    def _scalar(self, i: Instruction) -> None:
        texts = [self.values.scalar(o) for o in i.operands]
        text = self.out.call(*_called(i, texts), _math_flags(i))
        self.values.define_scalar(i, text)

    def _intrinsic(self, i: Instruction) -> None:
        match = _INTRINSIC.match(i.detail)
        if not match or i.type == VOID:
            raise i.unsupported("an intrinsic the pass does not know")
        self._vector_call(i, match.group(1))

    def _math(self, i: Instruction, base: str) -> None:
        if base in known_functions.INTRINSICS:
            self._vector_call(i, base)
        elif base in known_functions.RENAMED:
            self._vector_call(i, known_functions.RENAMED[base])
        else:
            self._each_lane(i)

    def _vector_call(self, i: Instruction, base: str) -> None:
        count = WIDTH
        if base in known_functions.VECTOR_LIBRARY and i.type.bits >= 32:
            # The library has no function of 32 lanes; LLVM finds those of its widths by name.
            count = min(self.values.register_bits, 256) // i.type.bits
        flag = _FLAG_ARGUMENT.get(base)
        pieces = []
        operands = [
            self.values.scalar(o) if k == flag else self.values.vector(o)
            for k, o in enumerate(i.operands)
        ]
        name = f"llvm.{base}.v{count}{mangled(i.type)}"
        if base in _TWO_TYPES or base in _TWO_TYPES_SAT or base == "is.fpclass":
            other = i.operands[0] if base not in ("ldexp", "powi") else i.operands[1]
            spelled = mangled(other.type) if base == "powi" else f"v{count}{mangled(other.type)}"
            name = f"llvm.{base}.{spelled}" if base == "is.fpclass" else f"{name}.{spelled}"
        for first in range(0, WIDTH, count):
            arguments = []
            for k, (operand, text) in enumerate(zip(i.operands, operands, strict=True)):
                if k == flag:
                    arguments.append((operand.type.text, text))
                    continue
                if count < WIDTH:
                    text = self.values.shuffle(operand.type, text, range(first, first + count))
                arguments.append((vector(operand.type, count), text))
            pieces.append(self.out.call(vector(i.type, count), name, arguments, _math_flags(i)))
        self.values.define_vector(i, self.values.joined(i.type, pieces, count))

    def _each_lane(self, i: Instruction) -> None:
        if any(not o.type.scalar for o in i.operands) or not (i.type.scalar or i.type == VOID):
            raise i.unsupported("a call with something else than scalars")
        wanted = i.type if i.type != VOID else None

        def act(texts: list[str]) -> str:
            return self.out.call(*_called(i, texts))

        items = [item_of(self.values, o) for o in i.operands]
        text = each_lane(self.values, wanted, items, act)
        if wanted:
            self.values.define_vector(i, text)


def _called(i: Instruction, texts: list[str]) -> tuple[str, str, list[tuple[str, str]]]:
    """The call as the callee expects it: result, name and arguments."""
    extensions = i.extensions or [""] * len(texts)
    arguments = [
        (operand.type.text + extension, text)
        for operand, extension, text in zip(i.operands, extensions, texts, strict=True)
    ]
    return i.convention + i.type.text, i.detail, arguments


def _math_flags(i: Instruction) -> str:
    return i.flags
