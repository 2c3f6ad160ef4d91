"""What the lanes hold: for each value its stride, the difference from one lane to the next.

Stride 0 is a uniform value, a number an affine one (lane 0's value says it all), None anything.
Also: which branches are divergent (lanes take different ways), which loops lanes leave at different
times, and by which divergent branches each block is influenced.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from openmps.emit.ir.flow import Graph, Loop
from openmps.emit.ir.model import I32, Function, Instruction, Operand
from openmps.emit.lanes import known_functions
from openmps.emit.lanes.private_memory import PrivateMemory
from openmps.emit.lanes.ranges import Ranges, constant_of
from openmps.emit.lanes.width import WIDTH
from openmps.layouts import Launch, Threadgroup

Stride = int | None

# Threads of a group are at most 1024; lanes past its end count on.
_THREAD_BOUND = 1023 + WIDTH - 1
_GROUP_OFFSETS = tuple(Launch.group.offset + 4 * axis for axis in range(3))
_POSITION_OFFSETS = tuple(Threadgroup.position.offset + 4 * axis for axis in range(3))


@dataclass
class Lanes:
    """The result of the analysis. `possible` strides hold only if a check at run time says so."""

    graph: Graph
    private: PrivateMemory
    strides: dict[str, Stride] = field(default_factory=dict)
    possible: dict[str, int] = field(default_factory=dict)
    divergent: set[str] = field(default_factory=set)
    divergent_loops: set[str] = field(default_factory=set)
    influenced_by: dict[str, frozenset[str]] = field(default_factory=dict)
    block_of: dict[str, str] = field(default_factory=dict)

    def stride(self, operand: Operand) -> Stride:
        if operand.value[0] != "%":
            return 0
        return self.strides[operand.value]

    def uniform(self, operand: Operand) -> bool:
        return self.stride(operand) == 0

    def loops_left(self, source: str, target: str) -> list[Loop]:
        return [loop for loop in self.graph.loops_of[source] if target not in loop.blocks]

    def leaves_divergent_loop(self, source: str, target: str) -> bool:
        return any(loop.header in self.divergent_loops for loop in self.loops_left(source, target))

    def divergent_nest(self, block: str) -> frozenset[str]:
        loops = self.graph.loops_of[block]
        return frozenset(loop.header for loop in loops if loop.header in self.divergent_loops)


def analyse(function: Function, graph: Graph, private: PrivateMemory, axis: str) -> Lanes:
    return _Analysis(function, Lanes(graph, private), axis).run()


class _Analysis:
    def __init__(self, function: Function, lanes: Lanes, axis: str) -> None:
        self.function = function
        self.lanes = lanes
        self.graph = lanes.graph
        self.strides = lanes.strides
        self.ranges = Ranges()
        self.defined = {i.result: i for b in function.blocks.values() for i in b.instructions}
        self._arguments(axis)
        for name, block in function.blocks.items():
            for i in block.instructions:
                if i.result:
                    lanes.block_of[i.result] = name

    def _arguments(self, axis: str) -> None:
        _, _, x, y, z, lane, simdgroup = self.names = [o.value for o in self.function.arguments]
        for name in self.names:
            self.strides[name] = 0
            self.lanes.block_of[name] = self.graph.entry
        self.strides[lane] = 1
        self.ranges.bounds |= dict.fromkeys((x, y, z), _THREAD_BOUND)
        self.ranges.bounds |= {lane: WIDTH - 1, simdgroup: 31}
        self.ranges.zeros[lane] = 32
        if axis == "any":
            self.strides |= dict.fromkeys((x, y, z))
        else:
            along = y if axis == "y" else x
            self.strides[along] = 1
            self.ranges.zeros[along] = 5

    def run(self) -> Lanes:
        self.lanes.influenced_by = {name: frozenset() for name in self.graph.order}
        changed = True
        while changed:
            changed = False
            for name in self.graph.order:
                for i in self.function.blocks[name].instructions:
                    if i.result:
                        changed |= self._update(name, i)
            changed |= self._branches()
            changed |= self._loops()
        # A stride that could not be proven is worth a check where it ends in an address.
        for name in self.graph.order:
            for i in self.function.blocks[name].instructions:
                if i.result and self.strides[i.result] is None:
                    self._possible(i)
        return self.lanes

    def _update(self, block: str, i: Instruction) -> bool:
        old = self.strides.get(i.result, "unseen")
        if old is None:
            return False
        new = self._stride(block, i)
        if new == "unseen":
            return False
        if old not in ("unseen", new):
            new = None
        assert new is None or isinstance(new, int)
        self.strides[i.result] = new
        return new != old

    def _branches(self) -> bool:
        found = {
            name
            for name in self.graph.order
            if len(self.graph.successors[name]) > 1
            and self.lanes.stride(self.function.blocks[name].end.operands[0]) != 0
        }
        if found == self.lanes.divergent:
            return False
        self.lanes.divergent = found
        by: dict[str, set[str]] = {name: set() for name in self.graph.order}
        for branch in found:
            for name in self.graph.influence(branch):
                by[name].add(branch)
        self.lanes.influenced_by = {name: frozenset(branches) for name, branches in by.items()}
        return True

    def _loops(self) -> bool:
        changed = False
        for loop in sorted(self.graph.loops.values(), key=lambda loop: len(loop.blocks)):
            if loop.header in self.lanes.divergent_loops:
                continue
            for source, _ in loop.exits:
                inner = [n for n in self.graph.loops_of[source] if n.blocks < loop.blocks]
                if (
                    source in self.lanes.divergent
                    or self.lanes.influenced_by[source] & loop.blocks
                    or any(n.header in self.lanes.divergent_loops for n in inner)
                ):
                    self.lanes.divergent_loops.add(loop.header)
                    changed = True
                    break
        return changed

    # Transfer functions

    def _stride(self, block: str, i: Instruction) -> Stride | str:
        if i.op == "phi":
            return self._phi(block, i)
        if i.op == "alloca":
            return self.lanes.private.layouts[i.result].stride
        found: list[Stride] = []
        for operand in i.operands:
            if operand.value[0] != "%":
                found.append(0)
            elif operand.value in self.strides:
                found.append(self.strides[operand.value])
            else:
                return "unseen"
        if i.op == "leave":
            apart = any(header in self.lanes.divergent_loops for header in i.targets)
            self.ranges.copy(i)
            return None if apart else found[0]
        if i.op == "call":
            return self._call(i, found)
        if i.op in ("atomicrmw", "cmpxchg"):
            return None
        self.ranges.find_bound(i)
        if all(stride == 0 for stride in found):
            self.ranges.find_zeros(i)
            return 0
        if None in found:
            return None
        strides = [stride for stride in found if stride is not None]
        return self._affine(i, strides)

    def _affine(self, i: Instruction, strides: list[int]) -> Stride:
        if i.type.kind not in ("int", "ptr") or i.type.bits < 8:
            return None
        op = i.op
        constant = constant_of(i.operands[1]) if len(i.operands) > 1 else None
        self.ranges.find_zeros(i)
        if op == "add" or (op == "or" and "disjoint" in i.flags):
            if self._is_grid_position(i):
                self.ranges.exact.add(i.result)
            return strides[0] + strides[1]
        if op == "sub":
            return strides[0] - strides[1]
        if op == "mul" and constant is not None:
            return strides[0] * constant
        if op == "shl" and constant is not None and constant < i.type.bits:
            return strides[0] << constant
        if op == "xor" and constant == -1:
            return -strides[0]
        if op == "and" and constant is not None:
            return self._masked(i, strides[0], constant)
        if op in ("lshr", "ashr") and constant is not None:
            # Nothing is carried out of the low bits, and those are shifted away.
            low = 0 <= strides[0] * (WIDTH - 1) < (1 << constant)
            return 0 if low and self.ranges.zero_bits(i.operands[0]) >= constant else None
        if op in ("trunc", "freeze", "ptrtoint", "inttoptr", "ptrtoaddr", "bitcast"):
            if i.operands[0].type.kind == "float":
                return None
            self.ranges.copy(i)
            return strides[0]
        if op in ("zext", "sext"):
            if self.ranges.extends_exactly(i.operands[0], strides[0], op == "sext"):
                self.ranges.copy(i)
                return strides[0]
            return None
        if op == "ptradd":
            return self._address(i, strides)
        if op == "select" and strides[0] == 0 and strides[1] == strides[2]:
            return strides[1]
        return None

    def _masked(self, i: Instruction, stride: int, mask: int) -> Stride:
        """x & mask, where lane 0's value ends in zeros that the lanes count in."""
        zeros = self.ranges.zero_bits(i.operands[0])
        low = (1 << zeros) - 1
        if not 0 <= stride * (WIDTH - 1) <= low:
            return None
        needed = (1 << (stride * (WIDTH - 1)).bit_length()) - 1
        if mask & needed == needed:
            return stride
        return 0 if mask & needed == 0 else None

    def _address(self, i: Instruction, strides: list[int]) -> Stride:
        factor = self.lanes.private.factor(i.result)
        total = strides[0]
        for operand, stride, scale in zip(i.operands[1:], strides[1:], i.indices, strict=True):
            if (
                stride
                and operand.type.bits < 64
                and not self.ranges.extends_exactly(operand, stride, True)
            ):
                return None
            total += stride * scale * factor
        return total

    def _is_grid_position(self, i: Instruction) -> bool:
        """threadgroup position * group size + thread: less than 2**32 by the contract of Launch."""
        if i.type != I32:
            return False
        for thread, start in (i.operands, i.operands[::-1]):
            product = self.defined.get(start.value)
            if thread.value not in self.names[2:5] or product is None or product.op != "mul":
                continue
            places = {self._argument_field(o) for o in product.operands}
            for position, group in zip(_POSITION_OFFSETS, _GROUP_OFFSETS, strict=True):
                if places == {(self.names[1], position), (self.names[0], group)}:
                    return True
        return False

    def _argument_field(self, operand: Operand) -> tuple[str, int] | None:
        load = self.defined.get(operand.value)
        if load is None or load.op != "load":
            return None
        address = load.operands[0].value
        step = self.defined.get(address)
        if step is not None and step.op == "ptradd" and not step.indices:
            return step.operands[0].value, step.offset
        return address, 0

    def _phi(self, block: str, i: Instruction) -> Stride | str:
        values = {o.value for o in i.operands} - {i.result}
        found: set[Stride] = set()
        for operand in i.operands:
            if operand.value[0] != "%":
                found.add(0)
            elif operand.value in self.strides:
                found.add(self.strides[operand.value])
        if not found:
            return "unseen"
        if len(values) > 1 and self._joins_diverged(block):
            return None
        if self._ends_apart(block, i, len(values) > 1):
            return None
        return found.pop() if len(found) == 1 else None

    def _joins_diverged(self, block: str) -> bool:
        """Whether lanes that diverged after the block's dominator come here by different edges."""
        before = self.graph.forward_predecessors(block)
        if len(before) < 2:
            return False
        above = self.graph.parent[block]
        for source in before:
            branches = self.lanes.influenced_by[source]
            if source in self.lanes.divergent:
                branches = branches | {source}
            if any(self.graph.dominates(above, branch) for branch in branches):
                return True
        return False

    def _ends_apart(self, block: str, i: Instruction, differ: bool) -> bool:
        """Whether lanes come here from a loop at different times, with different values."""
        for operand, source in zip(i.operands, i.targets, strict=True):
            for loop in self.lanes.loops_left(source, block):
                if loop.header in self.lanes.divergent_loops:
                    home = self.lanes.block_of.get(operand.value)
                    if differ or home in loop.blocks:
                        return True
        return False

    def _call(self, i: Instruction, found: list[Stride]) -> Stride:
        if i.detail == "openmps_lane":
            self.ranges.bounds[i.result] = WIDTH - 1
            self.ranges.zeros[i.result] = 32
            return 1
        if known_functions.is_uniform(i.detail):
            return 0
        if i.detail.startswith("openmps_shuffle_"):
            return 0 if found[1] == 0 else None
        if known_functions.is_lane_function(i.detail):
            return None
        self.ranges.find_bound(i)
        same = all(stride == 0 for stride in found)
        pure = i.detail.startswith("llvm.") or known_functions.is_pure(i.detail)
        return 0 if same and pure else None

    # Strides that need a check

    def _possible(self, i: Instruction) -> None:
        strides: list[int] = []
        for operand in i.operands:
            stride = self.lanes.stride(operand)
            if stride is None:
                stride = self.lanes.possible.get(operand.value)
            if stride is None:
                return
            strides.append(stride)
        if i.type.kind not in ("int", "ptr") or i.type.bits != 64:
            return
        found: int | None = None
        constant = constant_of(i.operands[1]) if len(i.operands) > 1 else None
        if i.op in ("zext", "sext") and i.operands[0].type.bits == 32:
            found = strides[0]
        elif i.op == "add" or (i.op == "or" and "disjoint" in i.flags):
            found = strides[0] + strides[1]
        elif i.op == "sub":
            found = strides[0] - strides[1]
        elif i.op == "mul" and constant is not None:
            found = strides[0] * constant
        elif i.op == "shl" and constant is not None:
            found = strides[0] << constant
        elif i.op == "ptradd" and i.result not in self.lanes.private.owner:
            if any(o.type.bits < 64 for o in i.operands[1:]):
                return
            found = strides[0] + sum(s * k for s, k in zip(strides[1:], i.indices, strict=True))
        if found is not None and abs(found) < 1 << 20:
            self.lanes.possible[i.result] = found
