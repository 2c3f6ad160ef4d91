"""Text of the function under construction: names, blocks, constants, and the value table that
gives every IR value as one scalar, as lane 0's scalar with a stride, or as a vector of 32."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from openmps.emit.ir.model import I64, Function, Instruction, Operand, Type, UnsupportedIR
from openmps.emit.lanes.divergence import Lanes
from openmps.emit.lanes.width import WIDTH
from openmps.layouts import Threadgroup

_FOLDED: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "xor": lambda a, b: a ^ b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "shl": lambda a, b: a << b,
    "lshr": lambda a, b: a >> b,
    "zext": lambda a: a,
    "freeze": lambda a: a,
}
MASK = f"<{WIDTH} x i1>"
NO_LANES = "zeroinitializer"
ALL_LANES = "splat (i1 true)"
LIVE = "%live"  # the lanes that there are, in a simdgroup that is not whole
DYNAMIC_OFFSET = Threadgroup.dynamic.offset


def vector(kind: Type, count: int = WIDTH) -> str:
    return f"<{count} x {kind.text}>"


def mangled(kind: Type) -> str:
    """A type as intrinsic names spell it."""
    if kind.kind == "int":
        return kind.text
    return {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}[
        kind.text
    ]


def constants(kind: Type, values: Sequence[int]) -> str:
    return "<" + ", ".join(f"{kind.text} {value}" for value in values) + ">"


def indices(values: Sequence[int]) -> str:
    """The mask of a shufflevector."""
    inside = ", ".join(f"i32 {v}" if v >= 0 else "i32 poison" for v in values)
    return f"<{len(values)} x i32> <{inside}>"


def _register_bits(attributes: str) -> int:
    if "+avx512f" in attributes:
        return 512
    return 256 if "+avx2" in attributes else 128


def element_of_size(size: int) -> str:
    """A type of that size: the scale of an index then stays visible as an addressing mode."""
    return {1: "i8", 2: "i16", 4: "i32", 8: "i64"}.get(size, f"[{size} x i8]")


class Writer:
    """Lines of one function, and what it needs declared."""

    def __init__(self, variable_bytes: dict[str, int] | None = None) -> None:
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.declarations: dict[str, str] = {}
        self.variable_bytes = variable_bytes or {}  # of the module's thread_local variables
        self.addresses: dict[str, str] = {}  # of those that the function uses
        self.threadgroup_bytes = 0  # that they take
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def let(self, text: str) -> str:
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def new_label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}.{self.count}"

    def alloca(self, kind: str, align: int = 64) -> str:
        name = self.name()
        self.allocas.append(f"  {name} = alloca {kind}, align {align}")
        return name

    def threadgroup_variable(self, variable: str) -> str:
        """The address of a variable in threadgroup memory: a place in the block that the runtime
        gives each threadgroup (Threadgroup::dynamic), and not a thread_local variable. Asking for
        one of those takes as long as a barrier, and LLVM believes that __tls_get_addr keeps zmm16
        to zmm31 and the mask registers."""
        if variable not in self.addresses:
            if variable not in self.variable_bytes:
                raise UnsupportedIR("a thread_local variable that is not in the module", variable)
            if not self.addresses:
                self.allocas += [
                    f"  %dynamic.field = getelementptr i8, ptr %threadgroup, i64 {DYNAMIC_OFFSET}",
                    "  %dynamic = load ptr, ptr %dynamic.field, align 8",
                ]
            name = self.name()
            offset = self.threadgroup_bytes
            self.allocas.append(f"  {name} = getelementptr i8, ptr %dynamic, i64 {offset}")
            self.addresses[variable] = name
            self.threadgroup_bytes += -(-self.variable_bytes[variable] // 16) * 16
        return self.addresses[variable]

    def call(
        self, result: str, function: str, arguments: Sequence[tuple[str, str]], flags: str = ""
    ) -> str:
        """Calls and declares; returns the result's name, or nothing for void."""
        kinds = ", ".join(kind for kind, _ in arguments)
        # The runtime's functions are called often and found early: no stub in between.
        how = " nonlazybind" if function.startswith("openmps_") else ""
        self.declarations.setdefault(function, f"declare {result} @{function}({kinds}){how}")
        passed = ", ".join(f"{kind} {value}" for kind, value in arguments)
        text = f"call {flags}{result} @{function}({passed})"
        if result.endswith("void"):
            self.line(text)
            return ""
        return self.let(text)


class Values:
    """The value table. Knows at which block the emission is, and under which mask."""

    def __init__(
        self,
        writer: Writer,
        function: Function,
        lanes: Lanes,
        reads_directly: Callable[[str, str], bool],
    ) -> None:
        self.out = writer
        self.lanes = lanes
        self.reads_directly = reads_directly  # Layout's
        self.defined = {i.result: i for b in function.blocks.values() for i in b.instructions}
        self.lane_name = function.arguments[5].value
        self.register_bits = _register_bits(function.attributes)
        self.block = ""
        self.mask = ALL_LANES
        self.scalars: dict[str, str] = {}
        self.vectors: dict[str, str] = {}
        self.slots: dict[str, str] = {}
        self.needs_slot: set[str] = set()
        self.cache: dict[str, str] = {}  # vectors made in this block from something else

    # Reading

    def stride(self, operand: Operand) -> int | None:
        return self.lanes.stride(operand)

    def uniform(self, operand: Operand) -> bool:
        return self.lanes.stride(operand) == 0

    def scalar(self, operand: Operand) -> str:
        """A uniform value, or lane 0's of an affine one."""
        if operand.value[0] != "%":
            return operand.value
        return self._read(operand.value, self.scalars, operand.type.text)

    def vector(self, operand: Operand) -> str:
        value = operand.value
        if value[0] != "%":
            return self.splat(operand.type, value)
        if value in self.cache:
            return self.cache[value]
        stride = self.lanes.strides[value]
        if stride is None:
            text = self._read(value, self.vectors, vector(operand.type))
        else:
            text = self.spread(operand.type, self.scalar(operand), stride)
        self.cache[value] = text
        return text

    def _read(self, name: str, table: dict[str, str], kind: str) -> str:
        home = self.lanes.block_of[name.partition("?")[0]]
        if home == self.block or self.reads_directly(home, self.block):
            return table[name]
        key = name + "!" if table is self.scalars else name
        if key in self.cache:
            return self.cache[key]
        text = self.cache[key] = self.out.let(f"load {kind}, ptr {self.slots[key]}")
        return text

    # Defining

    def define_scalar(
        self, i: Instruction, text: str, suffix: str = "", kind: Type | None = None
    ) -> None:
        name = i.result + suffix
        self.scalars[name] = text
        if i.result in self.needs_slot:
            self._store((kind or i.type).text, text, name + "!")

    def define_vector(self, i: Instruction, text: str) -> None:
        self.vectors[i.result] = text
        if i.result in self.needs_slot:
            self._store(vector(i.type), text, i.result)

    def _store(self, kind: str, text: str, key: str) -> None:
        if key not in self.slots:
            self.slots[key] = self.out.alloca(kind)
        self.out.line(f"store {kind} {text}, ptr {self.slots[key]}")

    # Making vectors

    def splat(self, kind: Type, text: str, count: int = WIDTH) -> str:
        if text in ("undef", "poison", "zeroinitializer"):
            return text
        if text in ("null", "0", "false"):
            return "zeroinitializer"
        if text[0] not in "%@" and "(" not in text:
            return f"splat ({kind.text} {text})"
        whole = vector(kind, count)
        one = self.out.let(f"insertelement {whole} poison, {kind.text} {text}, i64 0")
        return self.out.let(
            f"shufflevector {whole} {one}, {whole} poison, <{count} x i32> zeroinitializer"
        )

    def spread(self, kind: Type, text: str, stride: int) -> str:
        """text + lane * stride."""
        if stride == 0:
            return self.splat(kind, text)
        if kind.kind == "ptr":
            steps = constants(I64, [stride * lane for lane in range(WIDTH)])
            return self.out.let(f"getelementptr i8, ptr {text}, {vector(I64)} {steps}")
        modulus = 1 << kind.bits
        steps = constants(kind, [stride * lane % modulus for lane in range(WIDTH)])
        if text == "0":
            return steps
        return self.out.let(f"add {vector(kind)} {self.splat(kind, text)}, {steps}")

    def shuffle(self, kind: Type, text: str, order: Sequence[int], count: int = WIDTH) -> str:
        whole = vector(kind, count)
        return self.out.let(f"shufflevector {whole} {text}, {whole} poison, {indices(order)}")

    def joined(self, kind: Type, pieces: Sequence[str], count: int) -> str:
        """Vectors of `count` elements, a power of two of them, one behind the other."""
        while len(pieces) > 1:
            whole = vector(kind, count)
            order = indices(range(2 * count))
            pieces = [
                self.out.let(f"shufflevector {whole} {left}, {whole} {right}, {order}")
                for left, right in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            count *= 2
        return pieces[0]

    def blend(self, kind: Type, mask: str, yes: str, no: str) -> str:
        if mask == ALL_LANES:
            return yes
        whole = vector(kind)
        return self.out.let(f"select {MASK} {mask}, {whole} {yes}, {whole} {no}")

    def known_lanes(self, operand: Operand, depth: int = 0) -> list[int] | None:
        """The 32 numbers, if they follow from the lane alone."""
        value = operand.value
        if value.lstrip("-").isdigit():
            return [int(value)] * WIDTH
        if value == self.lane_name:
            return list(range(WIDTH))
        i = self.defined.get(value)
        if i is None or depth > 10:
            return None
        if i.op == "call" and i.detail == "openmps_lane":
            return list(range(WIDTH))
        if i.op not in _FOLDED or i.type.kind != "int":
            return None
        found = [self.known_lanes(o, depth + 1) for o in i.operands]
        if None in found:
            return None
        columns = [column for column in found if column is not None]
        limit = (1 << i.type.bits) - 1
        return [_FOLDED[i.op](*row) & limit for row in zip(*columns, strict=True)]

    # Masks

    def mask_bits(self, mask: str) -> str:
        key = "bits " + mask
        if key not in self.cache:
            self.cache[key] = self.out.let(f"bitcast {MASK} {mask} to i32")
        return self.cache[key]

    def any_lane(self, mask: str) -> str:
        return self.out.let(f"icmp ne i32 {self.mask_bits(mask)}, 0")

    def where(self, mask: str, condition: str) -> str:
        """mask && condition; a select, as the condition may be poison in lanes that are off."""
        return self.out.let(f"select {MASK} {mask}, {MASK} {condition}, {MASK} {NO_LANES}")

    def first_lane(self, mask: str) -> str:
        bits = self.mask_bits(mask)
        return self.out.call("i32", "llvm.cttz.i32", [("i32", bits), ("i1", "true")])

    def last_lane(self, mask: str) -> str:
        bits = self.mask_bits(mask)
        zeros = self.out.call("i32", "llvm.ctlz.i32", [("i32", bits), ("i1", "true")])
        return self.out.let(f"sub i32 31, {zeros}")

    def at_lane(self, operand: Operand, lane: str) -> str:
        if self.uniform(operand):
            return self.scalar(operand)
        whole = self.vector(operand)
        return self.out.let(f"extractelement {vector(operand.type)} {whole}, i32 {lane}")

    def at_constant_lane(self, operand: Operand, lane: int, depth: int = 0) -> str:
        """One lane's value, computed from that lane of what it is made of where that is simple:
        an index and an addressing mode are better than a pointer taken out of a vector."""
        out = self.out
        i = self.defined.get(operand.value)
        if self.stride(operand) == 0:
            return self.scalar(operand)
        simple = i is not None and self.lanes.block_of.get(operand.value) == self.block
        if i is not None and simple and depth < 4:
            if i.op in ("zext", "sext"):
                inner = self.at_constant_lane(i.operands[0], lane, depth + 1)
                return out.let(f"{i.op} {i.operands[0].type.text} {inner} to {i.type.text}")
            if i.op == "ptradd" and self.lanes.private.factor(i.result) == 1:
                text = self.at_constant_lane(i.operands[0], lane, depth + 1)
                for index, scale in zip(i.operands[1:], i.indices, strict=True):
                    step = self.at_constant_lane(index, lane, depth + 1)
                    element = element_of_size(scale)
                    text = out.let(f"getelementptr {element}, ptr {text}, {index.type.text} {step}")
                return out.let(f"getelementptr i8, ptr {text}, i64 {i.offset}")
        whole = self.vector(operand)
        return out.let(f"extractelement {vector(operand.type)} {whole}, i64 {lane}")

    def at_first(self, operand: Operand) -> str:
        """For a value that must be the same in all lanes, though the analysis cannot see it."""
        if self.uniform(operand):
            return self.scalar(operand)
        return self.at_lane(operand, self.first_lane(self.mask))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Code that not every way through the block runs: what it computes is not for later."""
        saved = dict(self.cache)
        try:
            yield
        finally:
            self.cache = saved
