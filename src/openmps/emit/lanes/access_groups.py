"""Finds the accesses of a block that together read or write one piece of memory per lane, such as
the four elements of a float4: the 32 pieces are then one wide access and shuffles, not gathers."""

from __future__ import annotations

from dataclasses import dataclass

from openmps.emit.ir.model import Block, Instruction, Operand, Type
from openmps.emit.lanes.divergence import Lanes

LARGEST_STEP = 4  # elements from one lane's piece to the next lane's


@dataclass
class Group:
    """Loads, or stores, at different places of each lane's piece."""

    kind: Type
    step: int  # elements from lane to lane
    members: list[tuple[Instruction, int]]  # with the place in the piece, in elements

    @property
    def leader(self) -> Instruction:
        """Where the wide access happens: at the first load, at the last store."""
        first = self.members[0][0]
        return first if first.op == "load" else self.members[-1][0]

    def place_of(self, wanted: Instruction) -> int:
        return next(place for i, place in self.members if i is wanted)


def element_step(lanes: Lanes, address: Operand, kind: Type) -> int:
    """Elements from lane to lane if that is a small number, else 0."""
    stride = lanes.stride(address)
    if stride is None:
        stride = lanes.possible.get(address.value, 0)
    if kind.bits % 8 or stride <= 0 or stride % kind.size:
        return 0
    step = stride // kind.size
    return step if step <= LARGEST_STEP else 0


def find_groups(block: Block, lanes: Lanes, defined: dict[str, Instruction]) -> dict[int, Group]:
    """By id() of the instruction. Only groups of two or more."""
    found: dict[int, Group] = {}
    open_loads: dict[tuple[object, ...], list[tuple[Instruction, int]]] = {}
    stores: list[tuple[Instruction, int]] = []
    store_key: tuple[object, ...] = ()

    def close_stores() -> None:
        nonlocal stores, store_key
        _keep(stores, store_key, found)
        stores, store_key = [], ()

    def close_loads() -> None:
        for key, members in open_loads.items():
            _keep(members, key, found)
        open_loads.clear()

    for i in block.instructions:
        if i.op not in ("load", "store"):
            if i.op in ("atomicrmw", "cmpxchg", "fence") or (i.op == "call" and _touches_memory(i)):
                close_stores()
                close_loads()
            continue
        kind = i.type if i.op == "load" else i.operands[0].type
        step = 0 if i.ordering or i.volatile else element_step(lanes, i.operands[-1], kind)
        base, offset = _place(i.operands[-1].value, defined)
        key = (i.op, kind, step, lanes.stride(i.operands[-1]) is None, base)
        if i.op == "load":
            close_stores()
            if step > 1:
                members = open_loads.setdefault(key, [])
                if not _fits(members, offset, kind, step):
                    _keep(members, key, found)
                    members.clear()
                members.append((i, offset))
            continue
        close_loads()
        if key != store_key or not _fits(stores, offset, kind, step):
            close_stores()
        if step > 1:
            stores.append((i, offset))
            store_key = key
    close_stores()
    close_loads()
    return found


def _touches_memory(i: Instruction) -> bool:
    return not (i.detail.startswith("llvm.") and i.type.scalar)


def _fits(members: list[tuple[Instruction, int]], offset: int, kind: Type, step: int) -> bool:
    """Whether one lane's piece still holds them all, each at its own place."""
    offsets = [at for _, at in members] + [offset]
    if len(set(offsets)) < len(offsets):
        return False
    if any((at - offsets[0]) % kind.size for at in offsets):
        return False
    return max(offsets) - min(offsets) < step * kind.size


def _keep(
    members: list[tuple[Instruction, int]], key: tuple[object, ...], found: dict[int, Group]
) -> None:
    if len(members) < 2:
        return
    kind, step = key[1], key[2]
    assert isinstance(kind, Type)
    assert isinstance(step, int)
    start = min(at for _, at in members)
    group = Group(kind, step, [(i, (at - start) // kind.size) for i, at in members])
    for i, _ in members:
        found[id(i)] = group


def _place(pointer: str, defined: dict[str, Instruction]) -> tuple[object, int]:
    """An address as something and a constant number of bytes."""
    offset = 0
    while (i := defined.get(pointer)) is not None and i.op == "ptradd":
        offset += i.offset
        if i.indices:
            return (tuple(o.value for o in i.operands), tuple(i.indices)), offset
        pointer = i.operands[0].value
    return pointer, offset
