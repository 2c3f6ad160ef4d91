"""Where the blocks of a function go when 32 lanes run it together: their order, which of them are
jumped over when no lane is there, and which share a mask."""

from __future__ import annotations

from openmps.emit.divergence import Lanes
from openmps.emit.flow import EXIT, linearise
from openmps.emit.ir import Function, Instruction

# A block this short runs for no lanes rather than being jumped over.
_CHEAP_INSTRUCTIONS = 8


class Layout:
    def __init__(self, function: Function, lanes: Lanes) -> None:
        self.function = function
        self.lanes = lanes
        self.graph = lanes.graph
        maybe_empty = {name for name in self.graph.order if lanes.splits[name]}
        self.guarded = {name for name in maybe_empty if not self._is_cheap(name)}
        self.linear = linearise(self.graph, lanes.parting, lanes.parting_loops, self.guarded)
        self.label_of = {name: f"b{k}" for k, name in enumerate(self.graph.order)}
        self.label_of[EXIT] = "done"
        self.root = self._mask_roots()
        for name in list(self.guarded):
            root = self.root[name]
            if root != name and root in self.guarded and self.linear.reaches_all(root, name):
                self.guarded.discard(name)

    def owns_mask(self, name: str) -> bool:
        return self.root[name] == name and name != self.graph.entry

    def body_label(self, name: str) -> str:
        return self.label_of[name] + (".body" if name in self.guarded else "")

    def next_label(self, source: str, target: str) -> str:
        if target != EXIT and self.graph.is_back_edge(source, target):
            return self.body_label(target)
        return self.label_of[self.linear.next[source, target]]

    def slots_needed(self) -> set[str]:
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
