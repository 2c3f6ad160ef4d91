"""Rewrites a function so that every value is a scalar: vectors and aggregates become their leaves,
address computations become bytes, and block copies become loads and stores.

The vectoriser then has one question per value: what do the 32 lanes hold?
"""

from __future__ import annotations

from collections.abc import Callable

from openmps.emit.ir import flow
from openmps.emit.ir.model import (
    BINARY,
    CASTS,
    I1,
    VOID,
    Block,
    Function,
    Instruction,
    Module,
    Operand,
    Type,
)
from openmps.emit.scalar.bitcasts import bitcast
from openmps.emit.scalar.calls import Calls
from openmps.emit.scalar.values import Scalars, integer_constant, leaves_of


def scalarise(function: Function, module: Module) -> Function:
    return _Scalariser(function, module).run()


class _Scalariser:
    def __init__(self, function: Function, module: Module) -> None:
        self.function = function
        self.out = Scalars(module)
        self.calls = Calls(self.out, function)
        self.tail_of: dict[str, str] = {}  # the block that an original block now ends in

    def run(self) -> Function:
        order = flow.reverse_postorder(
            next(iter(self.function.blocks)),
            {name: block.end.targets for name, block in self.function.blocks.items()},
        )
        for name in order:
            self.out.block = self.out.blocks[name] = Block(name)
            for instruction in self.function.blocks[name].instructions:
                self._rewrite(instruction)
            self.tail_of[name] = self.out.block.name
        for block in self.out.blocks.values():
            self._finish(block)
        return Function(
            self.function.name, self.function.arguments, self.out.blocks, self.function.attributes
        )

    def _finish(self, block: Block) -> None:
        for instruction in block.instructions:
            # The phi of a copy loop already names the new blocks.
            if instruction.op == "phi" and instruction.detail != "copy":
                self._finish_phi(instruction)
            else:
                instruction.operands = [self.out.resolve(o) for o in instruction.operands]

    def _finish_phi(self, phi: Instruction) -> None:
        pairs = zip(phi.operands, phi.targets, strict=True)
        reached = [(operand, name) for operand, name in pairs if name in self.tail_of]
        phi.operands = [self.out.leaves(operand)[phi.offset] for operand, _ in reached]
        phi.targets = [self.tail_of[name] for _, name in reached]
        phi.offset = 0

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
            self.out.keep(instruction)

    def _elementwise(self, instruction: Instruction) -> None:
        if instruction.op == "bitcast":
            self.out.define(instruction, bitcast(self.out, instruction))
            return
        kinds = [kind for kind, _ in leaves_of(instruction.type)]
        columns = []
        for operand in instruction.operands:
            leaves = self.out.leaves(operand)
            columns.append(leaves * len(kinds) if operand.type.scalar else leaves)
        found = []
        for index, kind in enumerate(kinds):
            operands = [column[index] for column in columns]
            found.append(
                self.out.emit(
                    instruction.op,
                    kind,
                    operands,
                    detail=instruction.detail,
                    flags=instruction.flags,
                )
            )
        self.out.define(instruction, found)

    def _rewrite_bitcast(self, instruction: Instruction) -> None:
        if instruction.type.scalar and instruction.operands[0].type.scalar:
            self.out.keep(instruction)
        else:
            self._elementwise(instruction)

    def _rewrite_phi(self, instruction: Instruction) -> None:
        # Incoming values are looked up when all blocks are done; `offset` keeps the leaf.
        if instruction.type.scalar:
            self.out.keep(instruction)
            return
        found = []
        for index, (kind, _) in enumerate(leaves_of(instruction.type)):
            phi = Instruction("phi", kind, self.out.name(), list(instruction.operands))
            phi.targets = list(instruction.targets)
            phi.offset = index
            self.out.keep(phi)
            found.append(Operand(kind, phi.result))
        self.out.parts[instruction.result] = found

    def _rewrite_load(self, instruction: Instruction) -> None:
        if instruction.type.scalar:
            self.out.keep(instruction)
            return
        self.out.parts[instruction.result] = self._load_leaves(
            instruction.type, instruction.operands[0]
        )

    def _load_leaves(self, kind: Type, address: Operand) -> list[Operand]:
        return [
            self.out.emit("load", leaf, [self.out.address(address, at)])
            for leaf, at in leaves_of(kind)
        ]

    def _rewrite_store(self, instruction: Instruction) -> None:
        value, address = instruction.operands
        if value.type.scalar:
            self.out.keep(instruction)
            return
        for (_, at), leaf in zip(leaves_of(value.type), self.out.leaves(value), strict=True):
            self.out.emit("store", VOID, [leaf, self.out.address(address, at)])

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
            constant = integer_constant(index)
            if constant is not None:
                offset += constant * step
            elif step:
                variable.append(index)
                scales.append(step)
        if not offset and not variable:
            self.out.same[instruction.result] = base
            return
        instruction.op = "ptradd"
        instruction.operands = [base, *variable]
        instruction.indices = scales
        instruction.offset = offset
        self.out.keep(instruction)

    def _rewrite_extractvalue(self, instruction: Instruction) -> None:
        first, count = _leaf_range(instruction.operands[0].type, instruction.indices)
        leaves = self.out.leaves(instruction.operands[0])[first : first + count]
        self.out.define(instruction, leaves)

    def _rewrite_insertvalue(self, instruction: Instruction) -> None:
        first, count = _leaf_range(instruction.type, instruction.indices)
        leaves = list(self.out.leaves(instruction.operands[0]))
        leaves[first : first + count] = self.out.leaves(instruction.operands[1])
        self.out.define(instruction, leaves)

    def _rewrite_extractelement(self, instruction: Instruction) -> None:
        leaves = self.out.leaves(instruction.operands[0])
        index = instruction.operands[1]
        constant = integer_constant(index)
        if constant is not None:
            self.out.same[instruction.result] = leaves[constant]
            return
        found = leaves[0]
        for k, leaf in enumerate(leaves[1:], 1):
            hit = self.out.emit("icmp", I1, [index, Operand(index.type, str(k))], detail="eq")
            found = self.out.emit("select", leaf.type, [hit, leaf, found])
        self.out.same[instruction.result] = found

    def _rewrite_insertelement(self, instruction: Instruction) -> None:
        vector, value, index = instruction.operands
        leaves = list(self.out.leaves(vector))
        constant = integer_constant(index)
        if constant is not None:
            leaves[constant] = self.out.resolve(value)
        else:
            for k, leaf in enumerate(leaves):
                hit = self.out.emit("icmp", I1, [index, Operand(index.type, str(k))], detail="eq")
                leaves[k] = self.out.emit("select", leaf.type, [hit, value, leaf])
        self.out.parts[instruction.result] = leaves

    def _rewrite_shufflevector(self, instruction: Instruction) -> None:
        both = [leaf for operand in instruction.operands for leaf in self.out.leaves(operand)]
        element = instruction.type.members[0]
        self.out.parts[instruction.result] = [
            both[k] if k >= 0 else Operand(element, "poison") for k in instruction.indices
        ]

    def _rewrite_cmpxchg(self, instruction: Instruction) -> None:
        # Always the strong form: then success is known from the value that was found.
        _, expected, _ = instruction.operands
        found = Operand(expected.type, self.out.name())
        result = instruction.result
        instruction.result = found.value
        instruction.type = expected.type
        self.out.keep(instruction)
        if result:
            success = self.out.emit("icmp", I1, [found, expected], detail="eq")
            self.out.parts[result] = [found, success]

    def _rewrite_call(self, instruction: Instruction) -> None:
        self.calls.rewrite(instruction)


def _leaf_range(kind: Type, indices: list[int]) -> tuple[int, int]:
    first = 0
    for index in indices:
        for k in range(index):
            first += len(leaves_of(kind.member(k)))
        kind = kind.member(index)
    return first, len(leaves_of(kind))
