"""Turns a kernel's scalar thread function into one that runs 32 threads in lock-step.

Text in, text out. The pieces: ir reads, scalars simplifies, flow orders, divergence analyses,
lane_layout places the blocks, lane_branches joins them, lane_arithmetic, lane_memory and lane_calls
write what is in them, lane_module what is around them.
"""

from __future__ import annotations

from openmps.emit.ir.flow import Graph
from openmps.emit.ir.instructions import read_function
from openmps.emit.ir.model import BINARY, CASTS, I32, Block, Function, Instruction
from openmps.emit.ir.text import parse_module
from openmps.emit.lanes import known_functions
from openmps.emit.lanes.arithmetic import divide, emit_arithmetic
from openmps.emit.lanes.block_layout import BlockLayout
from openmps.emit.lanes.branches import Branches
from openmps.emit.lanes.calls import Calls
from openmps.emit.lanes.divergence import Lanes, analyse
from openmps.emit.lanes.leaving_values import mark_leaving_values
from openmps.emit.lanes.matrix_rows import MatrixRows
from openmps.emit.lanes.memory import Memory
from openmps.emit.lanes.module import module_text, variable_bytes
from openmps.emit.lanes.private_memory import PrivateMemory
from openmps.emit.lanes.values import ALL_LANES, LIVE, MASK, NO_LANES, Values, Writer
from openmps.emit.scalar.scalarise import scalarise

THREAD = "openmps_thread"
_AXES = ("line", "x", "y", "any")


def vectorise(ir_text: str, *, axis: str) -> str:
    """The module with `openmps_simdgroup` in place of `openmps_thread`.

    axis says how the 32 threads lie in the threadgroup: along "x" (y and z the same; in a "line"
    they are 0), along "y" (x is 0, z the same), or "any". Raises UnsupportedIR.
    """
    if axis not in _AXES:
        raise ValueError(f"axis is {axis!r}, expected one of {', '.join(_AXES)}")
    module = parse_module(ir_text)
    function = scalarise(read_function(module, THREAD), module)
    graph = Graph(function)
    mark_leaving_values(function, graph)
    lanes = analyse(function, graph, PrivateMemory(function), axis)
    writers = []
    for live in (ALL_LANES, LIVE):
        # Twice the code: where all lanes are active, most of it needs no mask.
        writer = Writer(variable_bytes(module))
        _FunctionWriter(writer, function, lanes, axis, live).write()
        writers.append(writer)
    return module_text(module, function, *writers)


def uses(ir_text: str) -> frozenset[str]:
    """The lanes.h functions that the thread function calls; "atomic" if it has atomic
    instructions; "call:NAME" for each function of the module that was not inlined; "threadgroup"
    if the module has variables of the threadgroup."""
    module = parse_module(ir_text)
    found = {"threadgroup"} if variable_bytes(module) else set()
    for block in read_function(module, THREAD).blocks.values():
        for i in block.instructions:
            if i.op in ("atomicrmw", "cmpxchg") or (i.op in ("load", "store") and i.ordering):
                found.add("atomic")
            elif i.op == "call" and known_functions.is_lane_function(i.detail):
                found.add(i.detail)
            elif i.op == "call" and i.detail in module.definitions:
                found.add(f"call:{i.detail}")
    return frozenset(found)


class _FunctionWriter:
    def __init__(
        self, writer: Writer, function: Function, lanes: Lanes, axis: str, live: str
    ) -> None:
        self.out = writer
        self.axis = axis
        self.live = live
        self.function = function
        self.lanes = lanes
        self.layout = BlockLayout(function, lanes, whole=live == ALL_LANES)
        self.values = Values(writer, function, lanes, self.layout.reads_directly)
        self.memory = Memory(self.values, function)
        rows = MatrixRows(self.values, function)
        self.calls = Calls(self.values, function, rows)
        self.branches = Branches(self.values, self.layout, rows)
        self.mask_of: dict[str, str] = {}
        self.full_of: dict[str, str] = {}  # whether that mask is all lanes

    def write(self) -> None:
        values, layout = self.values, self.layout
        values.needs_slot = layout.slots_needed()
        for operand, text in zip(self.function.arguments, self._arguments(), strict=True):
            table = values.vectors if self.lanes.strides[operand.value] is None else values.scalars
            table[operand.value] = text
        self.out.line(f"br label %{layout.label_of[layout.graph.entry]}")
        for name in layout.graph.order:
            self._write_block(self.function.blocks[name])
        self.out.label("done")
        self.out.line("ret void")

    def _arguments(self) -> list[str]:
        """Where the threads are: x, y and z from the linear index and the group's shape."""
        out = self.out

        def shape(axis: int) -> str:
            address = out.let(f"getelementptr i8, ptr %threadgroup, i64 {12 + 4 * axis}")
            return out.let(f"load i32, ptr {address}, align 4")

        first = out.let("shl i32 %simdgroup, 5")
        if self.axis == "line":
            place = [first, "0", "0"]
        elif self.axis == "x":
            x = out.let(f"urem i32 {first}, {shape(0)}")
            row = out.let(f"udiv i32 {first}, {shape(0)}")
            place = [
                x,
                out.let(f"urem i32 {row}, {shape(1)}"),
                out.let(f"udiv i32 {row}, {shape(1)}"),
            ]
        elif self.axis == "y":
            y = out.let(f"urem i32 {first}, {shape(1)}")
            place = ["0", y, out.let(f"udiv i32 {first}, {shape(1)}")]
        else:
            index = self.values.spread(I32, first, 1)
            row, x = divide(self.values, I32, index, self.values.splat(I32, shape(0)), signed=False)
            z, y = divide(self.values, I32, row, self.values.splat(I32, shape(1)), signed=False)
            place = [x, y, z]
        return ["%launch", "%threadgroup", *place, "0", "%simdgroup"]

    def _write_block(self, block: Block) -> None:
        name = block.name
        out, values, layout = self.out, self.values, self.layout
        out.label(layout.label_of[name])
        values.block = name
        values.cache = {}
        root = layout.root[name]
        owner = layout.owns_mask(name)
        if name in layout.guarded:
            mask = self.mask_of[root] if not owner else ""
            mask = mask or out.let(f"load {MASK}, ptr {self.branches.mask_slot[name]}")
            some = values.any_lane(mask)
            skip = layout.label_of[layout.linear.skip[name]]
            out.line(f"br i1 {some}, label %{layout.body_label(name)}, label %{skip}")
            out.label(layout.body_label(name))
            values.cache = {}
        if owner:
            self.mask_of[name] = out.let(f"load {MASK}, ptr {self.branches.mask_slot[name]}")
            out.line(f"store {MASK} {NO_LANES}, ptr {self.branches.mask_slot[name]}")
        elif name == layout.graph.entry:
            self.mask_of[name] = self.live
        mask = values.mask = self.mask_of[name] = self.mask_of[root]
        if any(layout.root[other] == name for other in layout.doubled):
            self.full_of[name] = out.let(f"icmp eq i32 {values.mask_bits(mask)}, -1")
        if name not in layout.doubled:
            self._write_body(block)
            return
        full, partial = layout.full_label(name), layout.partial_label(name)
        out.line(f"br i1 {self.full_of[root]}, label %{full}, label %{partial}, !prof !0")
        for label, values.mask in ((full, ALL_LANES), (partial, mask)):
            out.label(label)
            values.cache = {}
            self._write_body(block)

    def _write_body(self, block: Block) -> None:
        self.memory.begin(block)
        for i in block.instructions[:-1]:
            self._write(i)
        self.branches.write_end(block)

    def _write(self, i: Instruction) -> None:
        op = i.op
        if op == "phi":
            self.branches.read_phi(i)
        elif op == "leave":
            self.branches.write_leave(i)
        elif (
            op in BINARY
            or op in CASTS
            or op in ("icmp", "fcmp", "select", "fneg", "freeze", "ptradd")
        ):
            emit_arithmetic(self.values, i)
        elif op == "call":
            self.calls.emit(i)
        else:
            self.memory.emit(i)
