"""Rewrites a function so that every value is a scalar: vectors and aggregates become their leaves,
address computations become bytes, and block copies become loads and stores.

The vectoriser then has one question per value: what do the 32 lanes hold?
"""

from __future__ import annotations

import re
from collections.abc import Callable

from openmps.emit import flow
from openmps.emit.ir import (
    BINARY,
    CASTS,
    I1,
    I8,
    I64,
    PTR,
    VOID,
    Block,
    Function,
    Instruction,
    Module,
    Operand,
    Type,
    UnsupportedIR,
    integer,
)
from openmps.emit.ir_text import parse_constant

# A longer copy becomes a loop.
_UNROLLED_ACCESSES = 64
_DROPPED_CALLS = (
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.experimental.noalias",
    "llvm.dbg.",
    "llvm.stacksave",
    "llvm.stackrestore",
    "llvm.invariant.end",
    "llvm.prefetch",
    "llvm.donothing",
    "llvm.sideeffect",
    "llvm.va_",
)
_FORWARDING_CALLS = (
    "llvm.expect",
    "llvm.launder.",
    "llvm.strip.",
    "llvm.ssa.copy",
    "llvm.annotation",
)
_OVERFLOW = re.compile(r"llvm\.([su])(add|sub|mul)\.with\.overflow\.")
_VECTOR_REDUCE = re.compile(r"llvm\.vector\.reduce\.(\w+)\.")
_COPY = re.compile(r"llvm\.(memcpy|memmove|memset)(\.inline)?\.")


def scalarise(function: Function, module: Module) -> Function:
    return _Scalariser(function, module).run()


def leaves_of(kind: Type, at: int = 0) -> list[tuple[Type, int]]:
    """Each scalar in a type, with the byte where it begins."""
    if kind.scalar:
        return [(kind, at)]
    found = []
    for index in range(kind.length):
        found += leaves_of(kind.member(index), at + kind.offset(index))
    return found


class _Scalariser:
    def __init__(self, function: Function, module: Module) -> None:
        self.function = function
        self.module = module
        self.parts: dict[str, list[Operand]] = {}  # composite values
        self.same: dict[str, Operand] = {}  # scalar results that are another value
        self.blocks: dict[str, Block] = {}
        self.block = Block("")
        self.tail_of: dict[str, str] = {}  # the block that an original block now ends in
        self.fresh = 0
        self.chunks = _copy_chunks(function)

    def run(self) -> Function:
        order = flow.reverse_postorder(
            next(iter(self.function.blocks)),
            {name: block.end.targets for name, block in self.function.blocks.items()},
        )
        for name in order:
            self.block = self.blocks[name] = Block(name)
            for instruction in self.function.blocks[name].instructions:
                self._rewrite(instruction)
            self.tail_of[name] = self.block.name
        for block in self.blocks.values():
            self._finish(block)
        return Function(
            self.function.name, self.function.arguments, self.blocks, self.function.attributes
        )

    def _finish(self, block: Block) -> None:
        for instruction in block.instructions:
            # The phi of a copy loop already names the new blocks.
            if instruction.op == "phi" and instruction.detail != "copy":
                self._finish_phi(instruction)
            else:
                instruction.operands = [self._resolve(o) for o in instruction.operands]

    def _finish_phi(self, phi: Instruction) -> None:
        pairs = zip(phi.operands, phi.targets, strict=True)
        reached = [(operand, name) for operand, name in pairs if name in self.tail_of]
        phi.operands = [self._leaves(operand)[phi.offset] for operand, _ in reached]
        phi.targets = [self.tail_of[name] for _, name in reached]
        phi.offset = 0

    # Values

    def _resolve(self, operand: Operand) -> Operand:
        while operand.value in self.same:
            operand = self.same[operand.value]
        return operand

    def _leaves(self, operand: Operand) -> list[Operand]:
        if operand.type.scalar:
            return [self._resolve(operand)]
        if operand.value in self.parts:
            return self.parts[operand.value]
        if operand.value.startswith(("%", "@")):
            raise UnsupportedIR("a composite value used before its definition", operand.value)
        return parse_constant(operand.value, operand.type, self.module.types)

    def _name(self) -> str:
        self.fresh += 1
        return f"%.s{self.fresh}"

    def _emit(
        self, op: str, kind: Type, operands: list[Operand], *, detail: str = "", flags: str = ""
    ) -> Operand:
        instruction = Instruction(op, kind, "", operands, flags, detail)
        instruction.text = f"{op} {detail}"
        if kind != VOID:
            instruction.result = self._name()
        self.block.instructions.append(instruction)
        return Operand(kind, instruction.result)

    def _define(self, instruction: Instruction, leaves: list[Operand]) -> None:
        if instruction.type.scalar:
            self.same[instruction.result] = leaves[0]
        else:
            self.parts[instruction.result] = leaves

    def _address(self, base: Operand, offset: int) -> Operand:
        if not offset:
            return base
        return self._ptradd(base, [], [], offset)

    def _ptradd(
        self, base: Operand, indices: list[Operand], scales: list[int], offset: int
    ) -> Operand:
        instruction = Instruction("ptradd", PTR, self._name(), [base, *indices])
        instruction.indices = scales
        instruction.offset = offset
        self.block.instructions.append(instruction)
        return Operand(PTR, instruction.result)

    # Instructions

    def _rewrite(self, instruction: Instruction) -> None:
        op = instruction.op
        handler: Callable[[Instruction], None] | None = getattr(self, "_rewrite_" + op, None)
        if handler is not None:
            handler(instruction)
        elif instruction.type.composite or any(o.type.composite for o in instruction.operands):
            if op in BINARY or op in CASTS or op in ("icmp", "fcmp", "select", "fneg", "freeze"):
                self._elementwise(instruction)
            else:
                raise instruction.unsupported("an operation on an aggregate")
        else:
            self.block.instructions.append(instruction)

    def _elementwise(self, instruction: Instruction) -> None:
        if instruction.op == "bitcast":
            self._define(instruction, self._bitcast(instruction))
            return
        kinds = [kind for kind, _ in leaves_of(instruction.type)]
        columns = []
        for operand in instruction.operands:
            leaves = self._leaves(operand)
            columns.append(leaves * len(kinds) if operand.type.scalar else leaves)
        found = []
        for index, kind in enumerate(kinds):
            operands = [column[index] for column in columns]
            found.append(
                self._emit(
                    instruction.op,
                    kind,
                    operands,
                    detail=instruction.detail,
                    flags=instruction.flags,
                )
            )
        self._define(instruction, found)

    def _bitcast(self, instruction: Instruction) -> list[Operand]:
        source = self._leaves(instruction.operands[0])
        wanted = [kind for kind, _ in leaves_of(instruction.type)]
        if len(source) == len(wanted):
            return [
                o if o.type == kind else self._emit("bitcast", kind, [o])
                for o, kind in zip(source, wanted, strict=True)
            ]
        total = integer(sum(o.type.bits for o in source))
        if total.bits > 64:
            return self._bitcast_wide(source, wanted)
        whole = Operand(total, "0")
        at = 0
        for operand in source:
            bits = self._as_integer(operand)
            wide = bits if bits.type == total else self._emit("zext", total, [bits])
            if at:
                wide = self._emit("shl", total, [wide, Operand(total, str(at))])
            whole = wide if not at else self._emit("or", total, [whole, wide])
            at += operand.type.bits
        return self._split(whole, wanted)

    def _bitcast_wide(self, source: list[Operand], wanted: list[Type]) -> list[Operand]:
        """Regroups element by element where one side's elements divide the other's."""
        found: list[Operand] = []
        if len(source) > len(wanted) and len(source) % len(wanted) == 0:
            step = len(source) // len(wanted)
            for index, kind in enumerate(wanted):
                group = source[index * step : (index + 1) * step]
                text = f"<{step} x {group[0].type.text}>"
                vector = Type("vector", text, count=step, members=(group[0].type,))
                name = self._name()
                self.parts[name] = group
                found += self._bitcast(Instruction("bitcast", kind, "", [Operand(vector, name)]))
            return found
        if len(wanted) % len(source) == 0:
            step = len(wanted) // len(source)
            for index, operand in enumerate(source):
                found += self._split(
                    self._as_integer(operand), wanted[index * step : (index + 1) * step]
                )
            return found
        raise UnsupportedIR("a bitcast between vectors whose elements do not divide")

    def _as_integer(self, operand: Operand) -> Operand:
        if operand.type.kind == "int":
            return operand
        kind = integer(operand.type.bits)
        op = "ptrtoint" if operand.type.kind == "ptr" else "bitcast"
        return self._emit(op, kind, [operand])

    def _split(self, whole: Operand, wanted: list[Type]) -> list[Operand]:
        found = []
        at = 0
        for kind in wanted:
            part = whole
            if at:
                part = self._emit("lshr", whole.type, [whole, Operand(whole.type, str(at))])
            narrow = integer(kind.bits)
            if narrow != part.type:
                part = self._emit("trunc", narrow, [part])
            if kind.kind == "float":
                part = self._emit("bitcast", kind, [part])
            elif kind.kind == "ptr":
                part = self._emit("inttoptr", kind, [part])
            found.append(part)
            at += kind.bits
        return found

    def _rewrite_bitcast(self, instruction: Instruction) -> None:
        if instruction.type.scalar and instruction.operands[0].type.scalar:
            self.block.instructions.append(instruction)
        else:
            self._elementwise(instruction)

    def _rewrite_phi(self, instruction: Instruction) -> None:
        # Incoming values are looked up when all blocks are done; `offset` keeps the leaf.
        if instruction.type.scalar:
            self.block.instructions.append(instruction)
            return
        found = []
        for index, (kind, _) in enumerate(leaves_of(instruction.type)):
            phi = Instruction("phi", kind, self._name(), list(instruction.operands))
            phi.targets = list(instruction.targets)
            phi.offset = index
            self.block.instructions.append(phi)
            found.append(Operand(kind, phi.result))
        self.parts[instruction.result] = found

    def _rewrite_load(self, instruction: Instruction) -> None:
        if instruction.type.scalar:
            self.block.instructions.append(instruction)
            return
        self.parts[instruction.result] = self._load_leaves(
            instruction.type, instruction.operands[0]
        )

    def _load_leaves(self, kind: Type, address: Operand) -> list[Operand]:
        return [
            self._emit("load", leaf, [self._address(address, at)]) for leaf, at in leaves_of(kind)
        ]

    def _rewrite_store(self, instruction: Instruction) -> None:
        value, address = instruction.operands
        if value.type.scalar:
            self.block.instructions.append(instruction)
            return
        for (_, at), leaf in zip(leaves_of(value.type), self._leaves(value), strict=True):
            self._emit("store", VOID, [leaf, self._address(address, at)])

    def _rewrite_getelementptr(self, instruction: Instruction) -> None:
        if instruction.type.composite or any(o.type.composite for o in instruction.operands):
            raise instruction.unsupported("an address computation on vectors")
        base, *indices = instruction.operands
        kind = instruction.source
        offset = 0
        variable: list[Operand] = []
        scales: list[int] = []
        for position, index in enumerate(indices):
            if position and kind.kind == "struct":
                offset += kind.offset(int(index.value))
                kind = kind.member(int(index.value))
                continue
            if position:
                step = kind.offset(1)
                kind = kind.members[0]
            else:
                step = kind.size
            constant = _integer_constant(index)
            if constant is not None:
                offset += constant * step
            elif step:
                variable.append(index)
                scales.append(step)
        if not offset and not variable:
            self.same[instruction.result] = base
            return
        instruction.op = "ptradd"
        instruction.operands = [base, *variable]
        instruction.indices = scales
        instruction.offset = offset
        self.block.instructions.append(instruction)

    def _rewrite_extractvalue(self, instruction: Instruction) -> None:
        first, count = _leaf_range(instruction.operands[0].type, instruction.indices)
        leaves = self._leaves(instruction.operands[0])[first : first + count]
        self._define(instruction, leaves)

    def _rewrite_insertvalue(self, instruction: Instruction) -> None:
        first, count = _leaf_range(instruction.type, instruction.indices)
        leaves = list(self._leaves(instruction.operands[0]))
        leaves[first : first + count] = self._leaves(instruction.operands[1])
        self._define(instruction, leaves)

    def _rewrite_extractelement(self, instruction: Instruction) -> None:
        leaves = self._leaves(instruction.operands[0])
        index = instruction.operands[1]
        constant = _integer_constant(index)
        if constant is not None:
            self.same[instruction.result] = leaves[constant]
            return
        found = leaves[0]
        for k, leaf in enumerate(leaves[1:], 1):
            hit = self._emit("icmp", I1, [index, Operand(index.type, str(k))], detail="eq")
            found = self._emit("select", leaf.type, [hit, leaf, found])
        self.same[instruction.result] = found

    def _rewrite_insertelement(self, instruction: Instruction) -> None:
        vector, value, index = instruction.operands
        leaves = list(self._leaves(vector))
        constant = _integer_constant(index)
        if constant is not None:
            leaves[constant] = self._resolve(value)
        else:
            for k, leaf in enumerate(leaves):
                hit = self._emit("icmp", I1, [index, Operand(index.type, str(k))], detail="eq")
                leaves[k] = self._emit("select", leaf.type, [hit, value, leaf])
        self.parts[instruction.result] = leaves

    def _rewrite_shufflevector(self, instruction: Instruction) -> None:
        both = [leaf for operand in instruction.operands for leaf in self._leaves(operand)]
        element = instruction.type.members[0]
        self.parts[instruction.result] = [
            both[k] if k >= 0 else Operand(element, "poison") for k in instruction.indices
        ]

    def _rewrite_cmpxchg(self, instruction: Instruction) -> None:
        # Always the strong form: then success is known from the value that was found.
        _, expected, _ = instruction.operands
        found = Operand(expected.type, self._name())
        result = instruction.result
        instruction.result = found.value
        instruction.type = expected.type
        self.block.instructions.append(instruction)
        if result:
            success = self._emit("icmp", I1, [found, expected], detail="eq")
            self.parts[result] = [found, success]

    # Calls

    def _rewrite_call(self, instruction: Instruction) -> None:
        name = instruction.detail
        if name.startswith(_DROPPED_CALLS):
            if instruction.type != VOID:
                self.same[instruction.result] = Operand(instruction.type, "null")
            return
        if name.startswith("llvm.is.constant"):
            self.same[instruction.result] = Operand(I1, "false")
            return
        if name.startswith(_FORWARDING_CALLS):
            self._define(instruction, self._leaves(instruction.operands[0]))
            return
        if name.startswith("llvm.objectsize"):
            low = instruction.operands[1].value == "true"
            self.same[instruction.result] = Operand(instruction.type, "0" if low else "-1")
            return
        if match := _OVERFLOW.match(name):
            self._overflow(instruction, match.group(1), match.group(2))
            return
        if match := _COPY.match(name):
            self._copy(instruction, match.group(1))
            return
        if match := _VECTOR_REDUCE.match(name):
            self._reduce(instruction, match.group(1))
            return
        if instruction.type.composite or any(o.type.composite for o in instruction.operands):
            self._call_elements(instruction)
            return
        self.block.instructions.append(instruction)

    def _call_elements(self, instruction: Instruction) -> None:
        if not instruction.detail.startswith("llvm.") or instruction.type.kind != "vector":
            raise instruction.unsupported("a call that passes an aggregate")
        element = instruction.type.members[0]
        suffixes = f".v{instruction.type.count}"
        name = re.sub(re.escape(suffixes) + r"(?=[a-z])", ".", instruction.detail)
        columns = [
            self._leaves(o) if o.type.composite else self._leaves(o) * instruction.type.count
            for o in instruction.operands
        ]
        self.parts[instruction.result] = [
            self._emit("call", element, list(row), detail=name, flags=instruction.flags)
            for row in zip(*columns, strict=True)
        ]

    def _reduce(self, instruction: Instruction, operation: str) -> None:
        leaves = [leaf for operand in instruction.operands for leaf in self._leaves(operand)]
        found = leaves[0]
        intrinsic = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum"}
        intrinsic |= {"fminimum": "minimum", "smax": "smax", "smin": "smin"}
        intrinsic |= {"umax": "umax", "umin": "umin"}
        for leaf in leaves[1:]:
            if operation in intrinsic:
                letter = "i" if leaf.type.kind == "int" else "f"
                name = f"llvm.{intrinsic[operation]}.{letter}{leaf.type.bits}"
                found = self._emit("call", leaf.type, [found, leaf], detail=name)
            else:
                found = self._emit(operation, leaf.type, [found, leaf], flags=instruction.flags)
        self.same[instruction.result] = found

    def _overflow(self, instruction: Instruction, sign: str, operation: str) -> None:
        left, right = (self._resolve(o) for o in instruction.operands)
        kind = left.type
        zero = Operand(kind, "0")
        if not kind.scalar:
            raise instruction.unsupported("an overflow check on vectors")
        if operation == "mul":
            wide = integer(kind.bits * 2)
            extend = "sext" if sign == "s" else "zext"
            factors = [self._emit(extend, wide, [o]) for o in (left, right)]
            product = self._emit("mul", wide, factors)
            value = self._emit("trunc", kind, [product])
            again = self._emit(extend, wide, [value])
            over = self._emit("icmp", I1, [again, product], detail="ne")
        else:
            value = self._emit(operation, kind, [left, right])
            if sign == "u":
                pair = [value, left] if operation == "add" else [left, right]
                over = self._emit("icmp", I1, pair, detail="ult")
            else:
                first = self._emit("xor", kind, [left, value])
                second = self._emit(
                    "xor",
                    kind,
                    [right if operation == "sub" else value, left if operation == "sub" else right],
                )
                both = self._emit("and", kind, [first, second])
                over = self._emit("icmp", I1, [both, zero], detail="slt")
        self.parts[instruction.result] = [value, over]

    # Block copies

    def _copy(self, instruction: Instruction, kind: str) -> None:
        target, source, size = instruction.operands[:3]
        count = _integer_constant(size)
        chunk = self.chunks.get(target.value, 0) or self.chunks.get(source.value, 0)
        if count is None:
            if kind == "memmove":
                raise instruction.unsupported("a memmove whose size is not constant")
            self._copy_loop(target, source, size, I8, kind)
            return
        chunk = chunk or 4
        while count % chunk:
            chunk //= 2
        unit = integer(8 * chunk)
        if count // chunk > _UNROLLED_ACCESSES:
            if kind == "memmove":
                raise instruction.unsupported("a long memmove")
            self._copy_loop(target, source, Operand(I64, str(count)), unit, kind)
            return
        offsets = range(0, count, chunk)
        if kind == "memset":
            value = self._fill(source, unit)
            for at in offsets:
                self._emit("store", VOID, [value, self._address(target, at)])
            return
        values = [self._emit("load", unit, [self._address(source, at)]) for at in offsets]
        for at, value in zip(offsets, values, strict=True):
            self._emit("store", VOID, [value, self._address(target, at)])

    def _fill(self, byte: Operand, unit: Type) -> Operand:
        constant = _integer_constant(byte)
        repeated = int("01" * (unit.bits // 8), 16)
        if constant is not None:
            return Operand(unit, str((constant & 0xFF) * repeated))
        wide = byte if unit.bits == 8 else self._emit("zext", unit, [byte])
        return self._emit("mul", unit, [wide, Operand(unit, str(repeated))])

    def _copy_loop(
        self, target: Operand, source: Operand, size: Operand, unit: Type, kind: str
    ) -> None:
        """Splits the block: what follows the copy goes on in a new one."""
        self.fresh += 1
        before, loop, after = self.block, f"%.copy{self.fresh}", f"%.copied{self.fresh}"
        if size.type != I64:
            size = self._emit("zext", I64, [size])
        value = self._fill(source, unit) if kind == "memset" else source
        some = self._emit("icmp", I1, [size, Operand(I64, "0")], detail="ne")
        before.instructions.append(Instruction("br", operands=[some], targets=[loop, after]))
        self.block = self.blocks[loop] = Block(loop)
        at, following = Operand(I64, self._name()), Operand(I64, self._name())
        phi = Instruction("phi", I64, at.value, [Operand(I64, "0"), following], detail="copy")
        phi.targets = [before.name, loop]
        self.block.instructions.append(phi)
        if kind != "memset":
            value = self._emit("load", unit, [self._ptradd(source, [at], [1], 0)])
        self._emit("store", VOID, [value, self._ptradd(target, [at], [1], 0)])
        step = Operand(I64, str(unit.bits // 8))
        self.block.instructions.append(Instruction("add", I64, following.value, [at, step]))
        more = self._emit("icmp", I1, [following, size], detail="ult")
        self.block.instructions.append(Instruction("br", operands=[more], targets=[loop, after]))
        self.block = self.blocks[after] = Block(after)


def _leaf_range(kind: Type, indices: list[int]) -> tuple[int, int]:
    first = 0
    for index in indices:
        for k in range(index):
            first += len(leaves_of(kind.member(k)))
        kind = kind.member(index)
    return first, len(leaves_of(kind))


def _integer_constant(operand: Operand) -> int | None:
    value = operand.value
    if value in ("true", "false"):
        return int(value == "true")
    if value in ("zeroinitializer", "null", "undef", "poison"):
        return 0
    return int(value) if value.lstrip("-").isdigit() else None


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
