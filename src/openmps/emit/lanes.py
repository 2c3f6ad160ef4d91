"""Turns a kernel's scalar thread function into one that runs 32 threads in lock-step.

Text in, text out. The pieces: ir reads, scalars simplifies, flow orders, divergence analyses,
lane_values, lane_memory and lane_calls write.
"""

from __future__ import annotations

import re

from openmps.emit import lane_calls, lane_functions, lane_memory
from openmps.emit.divergence import Lanes, analyse, mark_leaving_values
from openmps.emit.flow import EXIT, Graph, linearise
from openmps.emit.ir import (
    BINARY,
    CASTS,
    I32,
    Block,
    Function,
    Instruction,
    Module,
    Operand,
    UnsupportedIR,
)
from openmps.emit.ir_instructions import read_function
from openmps.emit.ir_text import Cursor, parse_module
from openmps.emit.lane_arithmetic import divide, emit_arithmetic
from openmps.emit.lane_values import ALL_LANES, MASK, NO_LANES, Values, Writer, vector
from openmps.emit.private import WIDTH, PrivateMemory
from openmps.emit.scalars import scalarise

THREAD = "openmps_thread"
SIMDGROUP = "openmps_simdgroup"
VARIABLES = "openmps_variables"  # exported: the bytes that variables in threadgroup memory take
_BODY = "openmps_lanes_body"
_AXES = ("line", "x", "y", "any")

# A block this short runs for no lanes rather than being jumped over.
_CHEAP_INSTRUCTIONS = 8
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
_KEPT_ATTRIBUTES = ("target-cpu", "target-features", "tune-cpu")


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
    writer = Writer(variable_bytes(module))
    _FunctionWriter(writer, function, lanes, axis).write()
    return _module_text(module, function, writer)


def uses(ir_text: str) -> frozenset[str]:
    """The lanes.h functions that the thread function calls; "atomic" if it has atomic
    instructions; "call:NAME" for each function of the module that was not inlined."""
    module = parse_module(ir_text)
    found = set()
    for block in read_function(module, THREAD).blocks.values():
        for i in block.instructions:
            if i.op in ("atomicrmw", "cmpxchg") or (i.op in ("load", "store") and i.ordering):
                found.add("atomic")
            elif i.op == "call" and lane_functions.is_lane_function(i.detail):
                found.add(i.detail)
            elif i.op == "call" and i.detail in module.definitions:
                found.add(f"call:{i.detail}")
    return frozenset(found)


class _FunctionWriter:
    def __init__(self, writer: Writer, function: Function, lanes: Lanes, axis: str) -> None:
        self.out = writer
        self.axis = axis
        self.function = function
        self.lanes = lanes
        self.graph = lanes.graph
        maybe_empty = {name for name in self.graph.order if lanes.splits[name]}
        self.guarded = {name for name in maybe_empty if not self._is_cheap(name)}
        self.linear = linearise(self.graph, lanes.parting, lanes.parting_loops, self.guarded)
        self.values = Values(writer, function, lanes, self.linear)
        self.memory = lane_memory.Memory(self.values, function)
        self.calls = lane_calls.Calls(self.values)
        self.label_of = {name: f"b{k}" for k, name in enumerate(self.graph.order)}
        self.label_of[EXIT] = "done"
        self.root = self._mask_roots()
        for name in list(self.guarded):
            root = self.root[name]
            if root != name and root in self.guarded and self.linear.reaches_all(root, name):
                self.guarded.discard(name)
        self.mask_slot: dict[str, str] = {}
        self.mask_of: dict[str, str] = {}
        self.phi_slot: dict[str, str] = {}
        self.leave_slot: dict[str, str] = {}

    def _is_cheap(self, name: str) -> bool:
        block = self.function.blocks[name]
        if len(block.instructions) > _CHEAP_INSTRUCTIONS or block.end.op not in ("br", "ret"):
            return False
        if name in self.graph.loops or len(block.end.targets) > 1:
            return False
        return all(self._runs_for_none(i) for i in block.instructions)

    def _runs_for_none(self, i: Instruction) -> bool:
        """Whether the instruction is harmless when no lane is active."""
        if i.op in ("load", "store"):
            return not i.ordering and not i.volatile and self.lanes.stride(i.operands[-1]) != 0
        if i.op in ("udiv", "sdiv", "urem", "srem"):
            return self.lanes.strides[i.result] != 0
        if i.op == "call":
            return i.detail.startswith("llvm.") and i.type.scalar
        return i.op not in ("atomicrmw", "cmpxchg", "fence", "unreachable")

    def _mask_roots(self) -> dict[str, str]:
        """Blocks with the same active lanes share the mask of the first."""
        root: dict[str, str] = {}
        for name in self.graph.order:
            root[name] = name
            above = name
            nest = self.lanes.parting_nest(name)
            while above != self.graph.entry:
                above = self.graph.parent[above]
                if (
                    self.lanes.splits[above] == self.lanes.splits[name]
                    and self.lanes.parting_nest(above) == nest
                    and name not in self.lanes.parting_loops
                    and self.linear.reaches_all(above, name)
                ):
                    root[name] = root[above]
                    break
        return root

    def _slots_needed(self) -> set[str]:
        """Values used where the linear graph no longer guarantees their definition."""
        needed = set()
        for name in self.graph.order:
            for i in self.function.blocks[name].instructions:
                for position, operand in enumerate(i.operands):
                    home = self.lanes.block_of.get(operand.value)
                    place = i.targets[position] if i.op == "phi" else name
                    if home is None or home == place or operand.value in needed:
                        continue
                    if not self.linear.reaches_all(home, place):
                        needed.add(operand.value)
        return needed

    def write(self) -> None:
        values = self.values
        values.needs_slot = self._slots_needed()
        for name in self.graph.order:
            if self.root[name] == name and name != self.graph.entry:
                slot = self.mask_slot[name] = self.out.alloca(MASK)
                self.out.allocas.append(f"  store {MASK} {NO_LANES}, ptr {slot}")
        for operand, text in zip(self.function.arguments, self._arguments(), strict=True):
            table = values.vectors if self.lanes.strides[operand.value] is None else values.scalars
            table[operand.value] = text
        self.out.line(f"br label %{self.label_of[self.graph.entry]}")
        for name in self.graph.order:
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
        out, values = self.out, self.values
        out.label(self.label_of[name])
        values.block = name
        values.cache = {}
        root = self.root[name]
        owner = root == name and name != self.graph.entry
        if name in self.guarded:
            mask = self.mask_of[root] if not owner else ""
            mask = mask or out.let(f"load {MASK}, ptr {self.mask_slot[name]}")
            some = values.any_lane(mask)
            skip = self.label_of[self.linear.skip[name]]
            out.line(f"br i1 {some}, label %{self._body_label(name)}, label %{skip}")
            out.label(self._body_label(name))
            values.cache = {}
        if owner:
            self.mask_of[name] = out.let(f"load {MASK}, ptr {self.mask_slot[name]}")
            out.line(f"store {MASK} {NO_LANES}, ptr {self.mask_slot[name]}")
        elif name == self.graph.entry:
            self.mask_of[name] = "%live"
        values.mask = self.mask_of[name] = self.mask_of[root]
        self.memory.begin(block)
        for i in block.instructions[:-1]:
            self._write(i)
        self._write_end(block)

    def _body_label(self, name: str) -> str:
        return self.label_of[name] + (".body" if name in self.guarded else "")

    def _next_label(self, source: str, target: str) -> str:
        if target != EXIT and self.graph.is_back_edge(source, target):
            return self._body_label(target)
        return self.label_of[self.linear.next[source, target]]

    def _write(self, i: Instruction) -> None:
        op = i.op
        if op == "phi":
            self._read_phi(i)
        elif op == "leave":
            self._write_leave(i)
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

    # Values that cross blocks

    def _phi_slot(self, i: Instruction) -> tuple[str, str]:
        kind = i.type.text if self.lanes.strides[i.result] is not None else vector(i.type)
        if i.result not in self.phi_slot:
            self.phi_slot[i.result] = self.out.alloca(kind)
        return kind, self.phi_slot[i.result]

    def _read_phi(self, i: Instruction) -> None:
        kind, slot = self._phi_slot(i)
        text = self.out.let(f"load {kind}, ptr {slot}")
        if self.lanes.strides[i.result] is None:
            self.values.define_vector(i, text)
        else:
            self.values.define_scalar(i, text)

    def _write_leave(self, i: Instruction) -> None:
        values = self.values
        if self.lanes.strides[i.result] is not None:
            values.define_scalar(i, values.scalar(i.operands[0]))
            return
        value = values.vector(i.operands[0])
        if not any(header in self.lanes.parting_loops for header in i.targets):
            values.define_vector(i, value)
            return
        kind = vector(i.type)
        slot = self.leave_slot.setdefault(i.result, "") or self.out.alloca(kind)
        self.leave_slot[i.result] = slot
        values.slots[i.result] = slot
        old = self.out.let(f"load {kind}, ptr {slot}")
        kept = values.blend(i.type, values.mask, value, old)
        self.out.line(f"store {kind} {kept}, ptr {slot}")
        values.vectors[i.result] = kept

    def _phi_updates(self, source: str, target: str, mask: str) -> list[str]:
        """The stores that bring a successor's phis up to date, values already computed."""
        stores = []
        block = self.function.blocks[target]
        for phi in block.phis():
            operand = phi.operands[phi.targets.index(source)]
            kind, slot = self._phi_slot(phi)
            if self.lanes.strides[phi.result] is not None:
                stores.append(f"store {kind} {self.values.scalar(operand)}, ptr {slot}")
                continue
            value = self.values.vector(operand)
            if self._must_blend(source, target):
                old = self.out.let(f"load {kind}, ptr {slot}")
                value = self.values.blend(phi.type, mask, value, old)
            stores.append(f"store {kind} {value}, ptr {slot}")
        return stores

    def _must_blend(self, source: str, target: str) -> bool:
        """Whether lanes that come by other edges have left values that must stay."""
        if self.graph.is_back_edge(source, target):
            return False
        if self.lanes.leaves_parting_loop(source, target):
            return True
        before = self.graph.forward_predecessors(target)
        if source == min(before, key=self.graph.index.__getitem__) and not any(
            self.lanes.leaves_parting_loop(other, target) for other in before
        ):
            return False
        return not (self.root[source] == self.root[target] and source not in self.lanes.parting)

    def _mask_update(self, target: str, mask: str) -> None:
        if self.root[target] != target:
            return
        slot = self.mask_slot[target]
        old = self.out.let(f"load {MASK}, ptr {slot}")
        new = self.out.let(f"or {MASK} {old}, {mask}")
        self.out.line(f"store {MASK} {new}, ptr {slot}")

    # Branches

    def _write_end(self, block: Block) -> None:
        end, name = block.end, block.name
        if end.op not in ("br", "switch", "ret", "unreachable"):
            raise end.unsupported("a block that ends in something else than a branch")
        targets = self.graph.successors[name]
        if not targets:
            self.out.line(f"br label %{self._next_label(name, EXIT)}")
        elif name in self.lanes.parting or self._repeats_parting_loop(name):
            self._write_parting(block)
        elif len(targets) == 1:
            self._write_edge(name, targets[0])
        else:
            self._write_uniform(block)

    def _repeats_parting_loop(self, name: str) -> bool:
        return any(
            t in self.lanes.parting_loops and self.graph.is_back_edge(name, t)
            for t in self.graph.successors[name]
        )

    def _write_edge(self, source: str, target: str) -> None:
        mask = self.values.mask
        for store in self._phi_updates(source, target, mask):
            self.out.line(store)
        self._mask_update(target, mask)
        self.out.line(f"br label %{self._next_label(source, target)}")

    def _write_uniform(self, block: Block) -> None:
        end = block.end
        edges = {t: self.out.new_label("edge") for t in self.graph.successors[block.name]}
        condition = self.values.scalar(end.operands[0])
        if end.op == "br":
            yes, no = (edges[t] for t in end.targets)
            self.out.line(f"br i1 {condition}, label %{yes}, label %{no}")
        else:
            kind = end.operands[0].type.text
            cases = " ".join(
                f"{kind} {case}, label %{edges[target]}"
                for case, target in zip(end.cases, end.targets[1:], strict=True)
            )
            default = edges[end.targets[0]]
            self.out.line(f"switch {kind} {condition}, label %{default} [ {cases} ]")
        for target, label in edges.items():
            self.out.label(label)
            with self.values.aside():
                self._write_edge(block.name, target)

    def _edge_masks(self, block: Block) -> dict[str, str]:
        end, values = block.end, self.values
        if not end.operands:
            return {end.targets[0]: values.mask}
        condition = values.vector(end.operands[0])
        if end.op == "br":
            turned = self.out.let(f"xor {MASK} {condition}, {ALL_LANES}")
            yes, no = end.targets
            return {
                yes: values.where(values.mask, condition),
                no: values.where(values.mask, turned),
            }
        kind = end.operands[0].type
        masks: dict[str, str] = {}
        rest = values.mask
        for case, target in zip(end.cases, end.targets[1:], strict=True):
            same = values.splat(kind, case)
            equal = self.out.let(f"icmp eq {vector(kind)} {condition}, {same}")
            hit = values.where(values.mask, equal)
            turned = self.out.let(f"xor {MASK} {equal}, {ALL_LANES}")
            rest = values.where(rest, turned)
            if target in masks:
                hit = self.out.let(f"or {MASK} {masks[target]}, {hit}")
            masks[target] = hit
        default = end.targets[0]
        if default in masks:
            rest = self.out.let(f"or {MASK} {masks[default]}, {rest}")
        masks[default] = rest
        return masks

    def _write_parting(self, block: Block) -> None:
        name = block.name
        targets = self.graph.successors[name]
        back = next((t for t in targets if self.graph.is_back_edge(name, t)), "")
        if back and len(targets) > 1:
            self._write_all_stay(block, back)
        masks = self._edge_masks(block)
        stores = []
        for target, mask in masks.items():
            stores += self._phi_updates(name, target, mask)
        for store in stores:
            self.out.line(store)
        for target, mask in masks.items():
            self._mask_update(target, mask)
        after = self._next_label(name, EXIT)
        if back:
            again = self.values.any_lane(masks[back])
            self.out.line(f"br i1 {again}, label %{self._body_label(back)}, label %{after}")
        else:
            self.out.line(f"br label %{after}")

    def _write_all_stay(self, block: Block, back: str) -> None:
        """A short cut while no lane leaves the loop, where two scalar comparisons can tell:
        `start + lane < end` and the like, the usual loop of a thread over its share."""
        stays = self._all_lanes(block.end.operands[0], block.end.targets[0] == back)
        if not stays:
            return
        quick, slow = self.out.new_label("stay"), self.out.new_label("part")
        self.out.line(f"br i1 {stays}, label %{quick}, label %{slow}")
        self.out.label(quick)
        with self.values.aside():
            self._write_edge(block.name, back)
        self.out.label(slow)

    def _all_lanes(self, condition: Operand, wanted: bool) -> str:
        """A scalar that is true only if the comparison comes out as wanted in all 32 lanes."""
        i = self.values.defined.get(condition.value)
        if i is None or i.op != "icmp" or i.operands[0].type.kind != "int":
            return ""
        sign = i.detail[0]
        strides = [self.lanes.stride(o) for o in i.operands]
        if None in strides or sign not in "us" or strides.count(0) != 1:
            return ""
        if not all(self._readable(o) for o in i.operands):
            return ""
        out, values = self.out, self.values
        kind = i.operands[0].type
        moving = 0 if strides[0] else 1
        stride = strides[moving] or 0
        if abs(stride) * WIDTH >= 1 << (kind.bits - 1):
            return ""
        first = values.scalar(i.operands[moving])
        fixed = values.scalar(i.operands[1 - moving])
        reach = stride * (WIDTH - 1)
        last = out.let(f"add {kind.text} {first}, {reach % (1 << kind.bits)}")
        if sign == "u" and stride > 0:
            # As lane_memory asks it of an index: the second question then costs nothing.
            most = (1 << kind.bits) - 1 - reach
            in_order = out.let(f"icmp ule {kind.text} {first}, {most}")
        else:
            order = "ge" if stride > 0 else "le"
            in_order = out.let(f"icmp {sign}{order} {kind.text} {last}, {first}")
        predicate = i.detail if wanted else sign + _OPPOSITE[i.detail[1:]]
        # The comparison holds for all lanes if it does for the one that it holds least for.
        highest_counts = (predicate[1] == "l") == (moving == 0)
        end = last if highest_counts == (stride > 0) else first
        pair = (end, fixed) if moving == 0 else (fixed, end)
        holds = out.let(f"icmp {predicate} {kind.text} {pair[0]}, {pair[1]}")
        return out.let(f"and i1 {in_order}, {holds}")

    def _readable(self, operand: Operand) -> bool:
        """Whether the value can be read here, though this block may not be a user of it."""
        home = self.lanes.block_of.get(operand.value)
        here = self.values.block
        return home is None or home == here or self.linear.reaches_all(home, here)


def _module_text(module: Module, function: Function, writer: Writer) -> str:
    body = "\n".join([*writer.allocas, *writer.lines])
    attributes = _attributes(function.attributes)
    helpers = [text for name, text in module.definitions.items() if f"@{name}(" in body]
    declared = {n: d for n, d in writer.declarations.items() if n not in module.definitions}
    for name, line in module.declarations.items():
        if any(f"@{name}(" in text for text in (body, *helpers)):
            declared.setdefault(name, re.sub(r" #\d+$", "", line))
    for variable in writer.variable_bytes:
        if any(variable in text for text in helpers):
            raise UnsupportedIR("threadgroup memory in a function that was not inlined", variable)
    parameters = "ptr %launch, ptr %threadgroup, i32 %simdgroup"
    lines = [
        *module.header,
        "",
        *(line for line in module.globals if " thread_local " not in line and line[:6] != "@llvm."),
        f"@{VARIABLES} = constant i32 {writer.threadgroup_bytes}",
        "",
        *(re.sub(r" #\d+(?= )", "", text) for text in helpers),
        f"define internal void @{_BODY}({parameters}, {MASK} %live) "
        f"alwaysinline nounwind {attributes} {{",
        body,
        "}",
        "",
        # Twice the code: loads and stores of a whole simdgroup need no mask.
        f"define void @{SIMDGROUP}({parameters}) nounwind {attributes} {{",
        "  %address = getelementptr i8, ptr %threadgroup, i64 24",
        "  %threads = load i32, ptr %address, align 4",
        "  %first = shl i32 %simdgroup, 5",
        "  %left = sub i32 %threads, %first",
        "  %whole = icmp uge i32 %left, 32",
        "  br i1 %whole, label %all, label %some",
        "all:",
        f"  call void @{_BODY}(ptr %launch, ptr %threadgroup, i32 %simdgroup, {MASK} {ALL_LANES})",
        "  ret void",
        "some:",
        "  %bit = shl i32 1, %left",
        "  %bits = sub i32 %bit, 1",
        f"  %live = bitcast i32 %bits to {MASK}",
        f"  call void @{_BODY}(ptr %launch, ptr %threadgroup, i32 %simdgroup, {MASK} %live)",
        "  ret void",
        "}",
        "",
        *sorted(set(declared.values())),
        "",
        '!0 = !{!"branch_weights", i32 2000, i32 1}',
        "",
    ]
    return "\n".join(lines)


def variable_bytes(module: Module) -> dict[str, int]:
    """The sizes of the module's thread_local variables: threadgroup memory, before the pass."""
    found = {}
    for line in module.globals:
        if " thread_local " not in line:
            continue
        name = line.partition(" = ")[0]
        kind = re.search(r" (?:global|constant) ", line)
        if kind is None:
            raise UnsupportedIR("a thread_local variable", line)
        found[name] = Cursor(line, module.types, kind.end()).type().size
    return found


def _attributes(quoted: str) -> str:
    kept = [
        f'"{key}"="{value}"'
        for key, value in re.findall(r'"([^"]*)"="([^"]*)"', quoted)
        if key in _KEPT_ATTRIBUTES
    ]
    if "+avx512f" in quoted:
        kept += ['"prefer-vector-width"="512"', '"min-legal-vector-width"="512"']
    return " ".join(kept)
