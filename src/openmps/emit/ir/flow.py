"""Control flow of a function: order, dominators, loops, and the linear graph that lock-step lanes
follow (after Moll and Hack, "Partial control-flow linearization").

A block here is its name. The graph is made reducible-only: anything else is UnsupportedIR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from openmps.emit.ir.model import Block, Function, Instruction, Operand, UnsupportedIR

EXIT = "exit"  # the virtual block after every return


def reverse_postorder(entry: str, successors: Mapping[str, Sequence[str]]) -> list[str]:
    seen = {entry}
    done: list[str] = []
    stack = [(entry, iter(successors[entry]))]
    while stack:
        name, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors.get(target, ()))))
                break
        else:
            done.append(name)
            stack.pop()
    return done[::-1]


def dominators(order: Sequence[str], predecessors: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The immediate dominator of each block of `order`, which begins with the entry."""
    index = {name: k for k, name in enumerate(order)}
    parent = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for name in order[1:]:
            best = ""
            for other in predecessors[name]:
                if other not in parent:
                    continue
                if not best:
                    best = other
                    continue
                left, right = best, other
                while left != right:
                    while index[left] > index[right]:
                        left = parent[left]
                    while index[right] > index[left]:
                        right = parent[right]
                best = left
            if parent.get(name) != best:
                parent[name] = best
                changed = True
    return parent


def dominates(parent: Mapping[str, str], above: str, below: str) -> bool:
    while below != above:
        if parent[below] == below:
            return False
        below = parent[below]
    return True


@dataclass(eq=False)
class Loop:
    header: str
    latch: str
    blocks: set[str]
    exits: list[tuple[str, str]] = field(default_factory=list)  # edges that leave

    def exit_targets(self) -> set[str]:
        return {target for _, target in self.exits}


class Graph:
    """A function's blocks in an order that keeps loops together, forward edges only going down."""

    def __init__(self, function: Function) -> None:
        self.entry = next(iter(function.blocks))
        _one_latch_per_loop(function, self.entry)
        self.successors = {n: _unique(b.end.targets) for n, b in function.blocks.items()}
        rough = reverse_postorder(self.entry, self.successors)
        for name in set(function.blocks) - set(rough):
            del function.blocks[name]
            del self.successors[name]
        self.predecessors = _reverse(self.successors)
        self.parent = dominators(rough, self.predecessors)
        self.loops = self._find_loops(rough)
        self.loops_of: dict[str, list[Loop]] = {
            name: [loop for loop in self.loops.values() if name in loop.blocks] for name in rough
        }
        for loops in self.loops_of.values():
            loops.sort(key=lambda loop: len(loop.blocks))
        self.order = self._loop_order(rough)
        self.index = {name: k for k, name in enumerate(self.order)}
        self.forward = self._forward_edges()
        for name, targets in self.forward.items():
            for target in targets:
                if target != EXIT and self.index[target] <= self.index[name]:
                    raise UnsupportedIR("control flow that is not reducible", name)
        self.after = self._post_dominators()

    def dominates(self, above: str, below: str) -> bool:
        return dominates(self.parent, above, below)

    def forward_predecessors(self, name: str) -> list[str]:
        return [p for p in self.predecessors[name] if not self.is_back_edge(p, name)]

    def is_back_edge(self, source: str, target: str) -> bool:
        loop = self.loops.get(target)
        return loop is not None and source in loop.blocks

    def _find_loops(self, rough: list[str]) -> dict[str, Loop]:
        loops: dict[str, Loop] = {}
        for name in rough:
            for target in self.successors[name]:
                if not self.dominates(target, name):
                    continue
                loop = loops[target] = Loop(target, name, {target})
                stack = [name]
                while stack:
                    block = stack.pop()
                    if block not in loop.blocks:
                        loop.blocks.add(block)
                        stack += self.predecessors[block]
        for loop in loops.values():
            for name in loop.blocks:
                loop.exits += [(name, t) for t in self.successors[name] if t not in loop.blocks]
        return loops

    def _loop_order(self, rough: list[str]) -> list[str]:
        order: list[str] = []
        rank = {name: k for k, name in enumerate(rough)}

        def place(names: set[str], header: str) -> None:
            """Appends `names`, which are entered at `header`, loops inside as one unit each."""
            unit: dict[str, str] = {}
            for name in names:
                unit[name] = name
                for loop in reversed(self.loops_of[name]):
                    if loop.header != header and loop.blocks <= names:
                        unit[name] = loop.header
                        break
            edges: dict[str, list[str]] = {u: [] for u in unit.values()}
            for name in sorted(names, key=rank.__getitem__):
                for target in self.successors[name]:
                    if target in names and target != header and unit[target] != unit[name]:
                        edges[unit[name]].append(unit[target])
            for name in reverse_postorder(unit[header], edges):
                if name in self.loops and name != header:
                    place(self.loops[name].blocks, name)
                else:
                    order.append(name)

        place(set(rough), self.entry)
        if len(order) != len(rough):
            raise UnsupportedIR("control flow that is not reducible")
        return order

    def _forward_edges(self) -> dict[str, list[str]]:
        """Back edges replaced by edges to where the loop leads in the end."""
        forward: dict[str, list[str]] = {}
        for name in self.order:
            targets: list[str] = []
            for target in self.successors[name]:
                if self.is_back_edge(name, target):
                    targets += self.loops[target].exit_targets() or {EXIT}
                else:
                    targets.append(target)
            forward[name] = _unique(targets) or [EXIT]
        return forward

    def _post_dominators(self) -> dict[str, str]:
        backward = [EXIT, *reversed(self.order)]
        return dominators(backward, {**self.forward, EXIT: []})

    def influence(self, branch: str) -> set[str]:
        """Blocks that only some of the lanes that diverge at `branch` reach before they meet."""
        meeting = self.after[branch]
        found: set[str] = set()
        stack = list(self.forward[branch])
        while stack:
            name = stack.pop()
            if name not in found and name not in (meeting, EXIT):
                found.add(name)
                stack += self.forward[name]
        return found


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _reverse(successors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in successors}
    for name, targets in successors.items():
        for target in targets:
            found[target].append(name)
    return found


def _one_latch_per_loop(function: Function, entry: str) -> None:
    """Sends all back edges of a loop through one new block."""
    successors = {name: _unique(block.end.targets) for name, block in function.blocks.items()}
    order = reverse_postorder(entry, successors)
    reachable = {name: successors[name] for name in order}
    parent = dominators(order, _reverse(reachable))
    for header in order:
        sources = [n for n in order if header in successors[n] and dominates(parent, header, n)]
        if len(sources) < 2:
            continue
        latch = Block(f"{header}.latch")
        for phi in function.blocks[header].phis():
            joined = Instruction("phi", phi.type, f"{phi.result}.latch", text=phi.text)
            pairs = list(zip(phi.operands, phi.targets, strict=True))
            inside = [(value, name) for value, name in pairs if name in sources]
            joined.operands = [value for value, _ in inside]
            joined.targets = [name for _, name in inside]
            latch.instructions.append(joined)
            outside = [(value, name) for value, name in pairs if name not in sources]
            phi.operands = [value for value, _ in outside] + [Operand(phi.type, joined.result)]
            phi.targets = [name for _, name in outside] + [latch.name]
        latch.instructions.append(Instruction("br", targets=[header]))
        function.blocks[latch.name] = latch
        for name in sources:
            end = function.blocks[name].end
            end.targets = [latch.name if t == header else t for t in end.targets]


@dataclass
class Linear:
    """Where each block goes next when lanes of one block may diverge."""

    next: dict[tuple[str, str], str]  # by (block, successor); one for all if lanes diverge there
    skip: dict[str, str]  # from a block that no lane is in
    parent: dict[str, str]  # immediate dominators, of "block" (its test) and "block body"

    def reaches_all(self, above: str, below: str) -> bool:
        """Whether every way to the test of `below` passes the body of `above`."""
        return dominates(self.parent, body_of(above), below)


def body_of(name: str) -> str:
    return name + " body"


def linearise(
    graph: Graph, divergent: set[str], divergent_loops: set[str], skippable: set[str]
) -> Linear:
    """`divergent`: blocks whose branch differs between lanes. `divergent_loops`: headers of loops
    that lanes leave at different times. `skippable`: blocks that test for lanes first."""
    index = {**graph.index, EXIT: len(graph.order)}
    pending: dict[str, set[str]] = {name: set() for name in [*graph.order, EXIT]}
    for header in divergent_loops:
        pending[header] |= graph.loops[header].exit_targets()
    following: dict[tuple[str, str], str] = {}
    skip: dict[str, str] = {}

    def go(targets: set[str]) -> str:
        """The first of the blocks still to visit; the others wait there."""
        first = min(targets, key=index.__getitem__, default=EXIT)
        pending[first] |= targets - {first}
        return first

    size = -1
    while size != (size := sum(map(len, pending.values()))):
        for name in graph.order:
            waiting = pending[name]
            if name in skippable:
                skip[name] = go(waiting)
            targets = graph.successors[name]
            if not targets:
                following[name, EXIT] = go(waiting)
                continue
            back = [t for t in targets if graph.is_back_edge(name, t)]
            onward = set(targets) - set(back)
            for header in back:
                pending[header] |= waiting
                following[name, header] = body_of(header)
                if header in divergent_loops:
                    pending[header] |= onward
            if name in divergent or (back and back[0] in divergent_loops):
                after = go(waiting | onward)
                for target in onward:
                    following[name, target] = after
                following[name, EXIT] = after
            else:
                for target in onward:
                    following[name, target] = go(waiting | {target})
    return Linear(following, skip, _linear_dominators(graph, following, skip))


def _linear_dominators(
    graph: Graph, following: dict[tuple[str, str], str], skip: dict[str, str]
) -> dict[str, str]:
    edges: dict[str, list[str]] = {EXIT: []}
    for name in graph.order:
        edges[name] = [body_of(name)] + ([skip[name]] if name in skip else [])
        edges[body_of(name)] = []
    for (name, _), target in following.items():
        edges[body_of(name)].append(target)
    order = reverse_postorder(graph.entry, edges)
    reachable = set(order)
    predecessors: dict[str, list[str]] = {name: [] for name in order}
    for name in order:
        for target in edges[name]:
            if target in reachable:
                predecessors[target].append(name)
    return dominators(order, predecessors)
