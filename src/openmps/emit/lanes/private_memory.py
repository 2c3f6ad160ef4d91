"""Where a thread's own arrays live. Interleaved (element k of all lanes side by side) when every
access is understood, so that a common index needs no gather; otherwise one copy per lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from openmps.emit.ir.model import Function, Instruction
from openmps.emit.lanes.width import WIDTH


@dataclass(frozen=True)
class Layout:
    size_bytes: int  # of one lane's copy
    unit_bytes: int  # of an interleaved element; 0 where each lane has its copy in one piece

    @property
    def stride(self) -> int:
        """Bytes from a lane's address to the next lane's."""
        return self.unit_bytes or self.size_bytes

    @property
    def factor(self) -> int:
        """By how much a step inside one lane's copy grows."""
        return WIDTH if self.unit_bytes else 1


@dataclass
class _Class:
    """Pointers that may be equal."""

    widths: set[int] = field(default_factory=set)
    steps: list[int] = field(default_factory=list)
    understood: bool = True


class PrivateMemory:
    def __init__(self, function: Function) -> None:
        self.layouts: dict[str, Layout] = {}
        self.owner: dict[str, str] = {}  # pointer value -> an alloca that stands for its class
        self._find(function)

    def factor(self, pointer: str) -> int:
        """What to multiply a step from this pointer by."""
        owner = self.owner.get(pointer)
        return self.layouts[owner].factor if owner else 1

    def _find(self, function: Function) -> None:
        instructions = [i for block in function.blocks.values() for i in block.instructions]
        allocas = [i for i in instructions if i.op == "alloca"]
        if not allocas:
            return
        leader = {i.result: i.result for i in allocas}

        def find(name: str) -> str:
            while leader[name] != name:
                leader[name] = leader[leader[name]]
                name = leader[name]
            return name

        derived = ("ptradd", "phi", "select", "freeze", "leave")
        links: list[tuple[str, str]] = []
        changed = True
        while changed:
            changed = False
            for i in instructions:
                if i.op in derived and i.type.kind == "ptr":
                    for name in _pointer_operands(i):
                        if name in leader and i.result not in leader:
                            leader[i.result] = i.result
                            changed = True
        for i in instructions:
            if i.op in derived and i.type.kind == "ptr" and i.result in leader:
                links += [(i.result, name) for name in _pointer_operands(i)]
        classes: dict[str, _Class] = {}
        for name, other in links:
            if other in leader:
                leader[find(name)] = find(other)
        for name in leader:
            classes.setdefault(find(name), _Class())
        for name, other in links:
            if other not in leader and other not in ("undef", "poison"):
                classes[find(name)].understood = False
        for i in instructions:
            self._note(i, leader, find, classes)
        for i in allocas:
            group = classes[find(i.result)]
            width = max(group.widths, default=0)
            size = -(-i.source.size // 16) * 16
            clean = (
                group.understood
                and len(group.widths) == 1
                and all(step % width == 0 for step in group.steps)
            )
            self.layouts[i.result] = Layout(size, width if clean else 0)
        first: dict[str, str] = {}
        for i in allocas:
            first.setdefault(find(i.result), i.result)
        self.owner = {name: first[find(name)] for name in leader if find(name) in first}

    def _note(
        self,
        i: Instruction,
        leader: dict[str, str],
        find: Callable[[str], str],
        classes: dict[str, _Class],
    ) -> None:
        for position, operand in enumerate(i.operands):
            if operand.value not in leader:
                continue
            group = classes[find(operand.value)]
            if i.op == "load" and not i.ordering:
                group.widths.add(i.type.size)
            elif i.op == "store" and position == 1 and not i.ordering:
                group.widths.add(i.operands[0].type.size)
            elif i.op == "ptradd" and position == 0:
                group.steps += [i.offset, *i.indices]
            elif i.op not in ("phi", "select", "freeze", "leave"):
                group.understood = False


def _pointer_operands(i: Instruction) -> list[str]:
    if i.op == "ptradd":
        return [i.operands[0].value]
    return [o.value for o in i.operands if o.type.kind == "ptr"]
