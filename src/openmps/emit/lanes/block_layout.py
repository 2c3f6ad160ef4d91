"""Where the blocks of a function go when 32 lanes run it together: their order, which of them are
jumped over when no lane is there, which share a mask, and which are written twice."""

from __future__ import annotations

from openmps.emit.ir.flow import EXIT, linearise
from openmps.emit.ir.model import Function, Instruction
from openmps.emit.lanes.divergence import Lanes

# A block this short runs for no lanes rather than being jumped over.
_CHEAP_INSTRUCTIONS = 8
# A longer one is not written twice, for the compiler's sake.
_MOST_DOUBLED_INSTRUCTIONS = 400


class BlockLayout:
    def __init__(self, function: Function, lanes: Lanes, *, whole: bool) -> None:
        """whole: all 32 threads of the simdgroup exist, so that all lanes may be active."""
        self.function = function
        self.whole = whole
        self.lanes = lanes
        self.graph = lanes.graph
        maybe_empty = {name for name in self.graph.order if lanes.influenced_by[name]}
        self.guarded = {name for name in maybe_empty if not self._is_cheap(name)}
        self.linear = linearise(self.graph, lanes.divergent, lanes.divergent_loops, self.guarded)
        self.label_of = {name: f"b{k}" for k, name in enumerate(self.graph.order)}
        self.label_of[EXIT] = "done"
        self.root = self._mask_roots()
        for name in list(self.guarded):
            root = self.root[name]
            if root != name and root in self.guarded and self.linear.reaches_all(root, name):
                self.guarded.discard(name)
        self.doubled = self._doubled_blocks()

    def owns_mask(self, name: str) -> bool:
        return self.root[name] == name and name != self.graph.entry

    def body_label(self, name: str) -> str:
        return self.label_of[name] + (".body" if name in self.guarded else "")

    def full_label(self, name: str) -> str:
        """Of a doubled block: where all lanes are active."""
        return self.label_of[name] + ".full"

    def partial_label(self, name: str) -> str:
        """Of a doubled block: where some lanes may be off."""
        return self.label_of[name] + ".partial"

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
                    if not self.reads_directly(home, place):
                        needed.add(operand.value)
        return needed

    def reads_directly(self, home: str, place: str) -> bool:
        """Whether a value can be used in another block than its own without going through memory:
        its definition is always reached before, and there is only one."""
        return home not in self.doubled and self.linear.reaches_all(home, place)

    def _doubled_blocks(self) -> set[str]:
        """Blocks that are written once for all lanes and once for a mask: where the machine has no
        masked instructions, a mask costs several times what it guards, and most of the time all
        lanes are active."""
        if not self.whole or "+avx512bw" in self.function.attributes:
            return set()
        return {
            name
            for name in self.graph.order
            if self.root[name] != self.graph.entry
            and len(self.function.blocks[name].instructions) <= _MOST_DOUBLED_INSTRUCTIONS
            and any(self._asks_mask(i) for i in self.function.blocks[name].instructions)
        }

    def _asks_mask(self, i: Instruction) -> bool:
        if i.op in ("load", "store"):
            return self.lanes.stride(i.operands[-1]) != 0
        if i.op in ("udiv", "sdiv", "urem", "srem"):
            return self.lanes.strides[i.result] is None
        if i.op == "call":
            return not i.detail.startswith("llvm.")
        return i.op in ("atomicrmw", "cmpxchg")

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
            nest = self.lanes.divergent_nest(name)
            while above != self.graph.entry:
                above = self.graph.parent[above]
                if (
                    self.lanes.influenced_by[above] == self.lanes.influenced_by[name]
                    and self.lanes.divergent_nest(above) == nest
                    and name not in self.lanes.divergent_loops
                    and self.linear.reaches_all(above, name)
                ):
                    root[name] = root[above]
                    break
        return root
