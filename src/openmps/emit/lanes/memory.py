"""Loads and stores of 32 lanes, and their private arrays.

Nothing is assumed to be aligned except private memory and atomics: kernels cast pointers freely.
"""

from __future__ import annotations

from collections.abc import Callable

from openmps.emit.ir.model import I1, PTR, Block, Function, Instruction, Operand, Type
from openmps.emit.lanes.access_groups import LARGEST_STEP, Group, find_groups
from openmps.emit.lanes.atomics import Atomics
from openmps.emit.lanes.each_lane import Item, each_lane, item_of
from openmps.emit.lanes.values import ALL_LANES, MASK, Values, indices, mangled, vector
from openmps.emit.lanes.width import WIDTH


def _narrowest_mask(attributes: str) -> int:
    """Bits of the smallest elements that the machine loads and stores under a mask."""
    if "+avx512bw" in attributes:
        return 8
    return 32 if "+avx2" in attributes else 1 << 16  # none


class Memory:
    def __init__(self, values: Values, function: Function) -> None:
        self.values = values
        self.out = values.out
        self.lanes = values.lanes
        self.groups: dict[int, Group] = {}
        self.defined = values.defined
        self.atomics = Atomics(values, function)
        # Where the machine has no such instruction, LLVM writes a branch per lane: a loop is
        # shorter and as fast.
        self.narrowest_mask = _narrowest_mask(function.attributes)
        self.masks_gathers = "+avx512f" in function.attributes

    def begin(self, block: Block) -> None:
        """Looks at the accesses of the block that is emitted next."""
        self.groups = find_groups(block, self.lanes, self.defined)

    def emit(self, i: Instruction) -> None:
        if id(i) in self.groups:
            group = self.groups[id(i)]
            if group.leader is i:
                self._grouped(i, group)
        elif i.op == "alloca":
            self._alloca(i)
        elif i.op == "load":
            self._load(i)
        elif i.op == "store":
            self._store(i)
        elif i.op == "fence":
            self.out.line(f"fence {i.ordering}")
        elif i.op in ("atomicrmw", "cmpxchg"):
            self.atomics.emit(i)
        else:
            raise i.unsupported("an instruction the pass does not know")

    def _alloca(self, i: Instruction) -> None:
        layout = self.lanes.private.layouts[i.result]
        self.values.define_scalar(i, self.out.alloca(f"[{layout.size_bytes * WIDTH} x i8]"))

    # Addresses

    def _align(self, i: Instruction, address: Operand) -> int:
        kind = i.type if i.op == "load" else i.operands[0].type
        return kind.align if address.value in self.lanes.private.owner else 1

    def _in_two_ways(
        self,
        address: Operand,
        quick: Callable[[str], list[str]],
        slow: Callable[[], list[str]],
        kind: Type,
    ) -> list[str]:
        """`quick` if the check of a possible stride holds, else `slow`. Both return vectors, or
        nothing for a store."""
        base = self.values.scalar(Operand(address.type, address.value + "?base"))
        ok = self.values.scalar(Operand(I1, address.value + "?ok"))
        return self._either(ok, lambda: quick(base), slow, kind)

    def _either(
        self, ok: str, quick: Callable[[], list[str]], slow: Callable[[], list[str]], kind: Type
    ) -> list[str]:
        out, values = self.out, self.values
        even, uneven, after = (out.new_label(hint) for hint in ("even", "uneven", "either"))
        ends = [out.new_label("even.end"), out.new_label("uneven.end")]
        out.line(f"br i1 {ok}, label %{even}, label %{uneven}, !prof !0")
        out.label(even)
        with values.aside():
            found = [quick()]
        # Either way may have gone through blocks of its own.
        self._end_way(ends[0], after)
        out.label(uneven)
        with values.aside():
            found.append(slow())
        self._end_way(ends[1], after)
        out.label(after)
        return [
            out.let(f"phi {vector(kind)} [ {a}, %{ends[0]} ], [ {b}, %{ends[1]} ]")
            for a, b in zip(*found, strict=True)
        ]

    def _evenly(
        self, kind: Type, even: Callable[[], list[str]], uneven: Callable[[], list[str]]
    ) -> list[str]:
        """`even`, but only for all lanes where the machine has no masks for so narrow a type."""
        if self.values.mask == ALL_LANES or kind.bits >= self.narrowest_mask:
            return even()

        def unmasked() -> list[str]:
            mask, self.values.mask = self.values.mask, ALL_LANES
            try:
                return even()
            finally:
                self.values.mask = mask

        full = self.out.let(f"icmp eq i32 {self.values.mask_bits(self.values.mask)}, -1")
        return self._either(full, unmasked, uneven, kind)

    def _end_way(self, end: str, after: str) -> None:
        self.out.line(f"br label %{end}")
        self.out.label(end)
        self.out.line(f"br label %{after}")

    # Several accesses as one

    def _grouped(self, i: Instruction, group: Group) -> None:
        address = i.operands[-1]
        back = -group.place_of(i) * group.kind.size
        wide = self._wide_load if i.op == "load" else self._wide_store
        narrow = self._gathers if i.op == "load" else self._scatters
        if self.values.stride(address) is None:
            texts = self._in_two_ways(
                address,
                lambda base: wide(group, address, base, back),
                lambda: narrow(group, self.values.vector(address), back),
                group.kind,
            )
        else:
            texts = wide(group, address, self.values.scalar(address), back)
        for (member, _), text in zip(group.members, texts, strict=False):
            self.values.define_vector(member, text)

    def _moved(self, base: str, offset: int, kind: str = "ptr") -> str:
        return self.out.let(f"getelementptr i8, {kind} {base}, i64 {offset}") if offset else base

    def _wide_load(self, group: Group, address: Operand, base: str, back: int) -> list[str]:
        pointers = self._piece_pointers(group, address, base)
        return self._evenly(
            group.kind,
            lambda: self._wide_load_masked(group, base, back),
            lambda: self._gathers(group, pointers(), back),
        )

    def _piece_pointers(self, group: Group, address: Operand, base: str) -> Callable[[], str]:
        return lambda: self.values.spread(address.type, base, group.step * group.kind.size)

    def _wide_load_masked(self, group: Group, base: str, back: int) -> list[str]:
        places = {place for _, place in group.members}
        mask = self._spread_mask(group.step, places)
        count = WIDTH * group.step
        text = self.masked_load(group.kind, self._moved(base, back), mask, count, 1)
        return [
            self.values.shuffle(group.kind, text, range(place, count, group.step), count)
            for _, place in group.members
        ]

    def _wide_store(self, group: Group, address: Operand, base: str, back: int) -> list[str]:
        pointers = self._piece_pointers(group, address, base)
        return self._evenly(
            group.kind,
            lambda: self._wide_store_masked(group, base, back),
            lambda: self._scatters(group, pointers(), back),
        )

    def _wide_store_masked(self, group: Group, base: str, back: int) -> list[str]:
        kind, step = group.kind, group.step
        by_place = {place: i.operands[0] for i, place in group.members}
        texts = [
            self.values.vector(by_place[place]) if place in by_place else "poison"
            for place in range(step)
        ]
        texts += ["poison"] * (step % 2)
        count = WIDTH
        while len(texts) > 1:
            whole = vector(kind, count)
            both = indices(range(2 * count))
            texts = [
                self.out.let(f"shufflevector {whole} {a}, {whole} {b}, {both}")
                for a, b in zip(texts[::2], texts[1::2], strict=True)
            ]
            count *= 2
        order = [place * WIDTH + lane for lane in range(WIDTH) for place in range(step)]
        text = self.values.shuffle(kind, texts[0], order, count)
        mask = self._spread_mask(step, set(by_place))
        self.masked_store(kind, text, self._moved(base, back), mask, WIDTH * step, 1)
        return []

    def _gathers(self, group: Group, pointers: str, back: int) -> list[str]:
        return [
            self._gather_from(
                group.kind,
                self._moved(pointers, back + place * group.kind.size, f"<{WIDTH} x ptr>"),
            )
            for _, place in group.members
        ]

    def _scatters(self, group: Group, pointers: str, back: int) -> list[str]:
        for i, place in group.members:
            offset = back + place * group.kind.size
            self._scatter(i.operands[0], self._moved(pointers, offset, f"<{WIDTH} x ptr>"))
        return []

    # Loads

    def _load(self, i: Instruction) -> None:
        address = i.operands[0]
        stride = self.values.stride(address)
        if stride == 0:
            self.values.define_scalar(i, self._scalar_load(i, self.values.scalar(address)))
            return
        if i.ordering or i.volatile:
            items = [item_of(self.values, address)]
            result = each_lane(self.values, i.type, items, lambda t: self._scalar_load(i, t[0]))
            self.values.define_vector(i, result)
            return
        if i.type.bits % 8:
            raise i.unsupported("a load of a type that is no whole number of bytes")
        possible = self.lanes.possible.get(address.value)
        if stride is not None:
            text = self._even_load(i, self.values.scalar(address), stride, address)
        elif possible is not None and self._is_near(possible, i.type):
            (text,) = self._in_two_ways(
                address,
                lambda base: [self._even_load(i, base, possible, address)],
                lambda: [self._gather(i, address)],
                i.type,
            )
        else:
            text = self._gather(i, address)
        self.values.define_vector(i, text)

    def _is_near(self, stride: int, kind: Type) -> bool:
        return stride % kind.size == 0 and 0 <= stride // kind.size <= LARGEST_STEP

    def _scalar_load(self, i: Instruction, pointer: str) -> str:
        if i.ordering:
            kind = "atomic volatile" if i.volatile else "atomic"
            size = i.type.size
            return self.out.let(
                f"load {kind} {i.type.text}, ptr {pointer} {i.ordering}, align {size}"
            )
        volatile = "volatile " if i.volatile else ""
        return self.out.let(f"load {volatile}{i.type.text}, ptr {pointer}, align 1")

    def _even_load(self, i: Instruction, base: str, stride: int, address: Operand) -> str:
        kind, size = i.type, i.type.size
        if stride == 0:
            return self.values.splat(kind, self._scalar_load(i, base))

        def pointers() -> str:
            return self.values.spread(address.type, base, stride)

        if not self._is_near(stride, kind):
            return self._gather_from(kind, pointers())

        def even() -> list[str]:
            if stride == size:
                align = self._align(i, address)
                return [self.masked_load(kind, base, self.values.mask, WIDTH, align)]
            return [self._strided_load(kind, base, stride // size)]

        return self._evenly(kind, even, lambda: [self._gather_from(kind, pointers())])[0]

    def masked_load(self, kind: Type, base: str, mask: str, count: int, align: int) -> str:
        whole = vector(kind, count)
        if mask == ALL_LANES:
            return self.out.let(f"load {whole}, ptr {base}, align {align}")
        return self.out.call(
            whole,
            f"llvm.masked.load.v{count}{mangled(kind)}.p0",
            [("ptr", base), ("i32", str(align)), (f"<{count} x i1>", mask), (whole, "poison")],
        )

    def _strided_load(self, kind: Type, base: str, step: int) -> str:
        mask = self._spread_mask(step, {0})
        wide = self.masked_load(kind, base, mask, WIDTH * step, 1)
        order = [lane * step for lane in range(WIDTH)]
        return self.values.shuffle(kind, wide, order, WIDTH * step)

    def _spread_mask(self, step: int, places: set[int]) -> str:
        """The mask of a wide access: these places of each piece of `step` elements."""
        key = f"mask {self.values.mask} {step} {sorted(places)}"
        if key not in self.values.cache:
            order = [
                lane if place in places else WIDTH for lane in range(WIDTH) for place in range(step)
            ]
            self.values.cache[key] = self.out.let(
                f"shufflevector {MASK} {self.values.mask}, {MASK} zeroinitializer, {indices(order)}"
            )
        return self.values.cache[key]

    def _gather(self, i: Instruction, address: Operand) -> str:
        return self._gather_from(i.type, self.values.vector(address))

    def _gather_from(self, kind: Type, pointers: str) -> str:
        whole = vector(kind)
        if self.values.mask != ALL_LANES and (kind.bits < 32 or not self.masks_gathers):
            load = f"load {kind.text}, ptr {{}}, align 1"
            items = [Item(PTR, pointers, True)]
            return each_lane(self.values, kind, items, lambda t: self.out.let(load.format(t[0])))
        return self.out.call(
            whole,
            f"llvm.masked.gather.v{WIDTH}{mangled(kind)}.v{WIDTH}p0",
            [
                (f"<{WIDTH} x ptr>", pointers),
                ("i32", "1"),
                (MASK, self.values.mask),
                (whole, "poison"),
            ],
        )

    # Stores

    def _store(self, i: Instruction) -> None:
        value, address = i.operands
        values = self.values
        stride = values.stride(address)
        if stride == 0:
            if self._all_simdgroups_store(address.value):
                # Generated kernels let every thread write one result, sometimes over what the
                # others have yet to read. On a GPU simdgroups get here at about the same time.
                self.out.call("void", "openmps_lanes_yield", [])
            text = values.at_lane(value, "") if values.uniform(value) else ""
            text = text or values.at_lane(value, values.last_lane(values.mask))
            self._scalar_store(i, text, values.scalar(address))
            return
        if i.ordering or i.volatile:
            items = [item_of(values, value), item_of(values, address)]
            each_lane(values, None, items, lambda t: self._scalar_store(i, t[0], t[1]))
            return
        if value.type.bits % 8:
            raise i.unsupported("a store of a type that is no whole number of bytes")
        possible = self.lanes.possible.get(address.value)
        if stride is not None:
            self._even_store(i, values.scalar(address), stride)
        elif possible is not None and self._is_near(possible, value.type) and possible:
            self._in_two_ways(
                address,
                lambda base: self._even_store(i, base, possible),
                lambda: self._scatter(value, values.vector(address)),
                value.type,
            )
        else:
            self._scatter(value, values.vector(address))

    def _all_simdgroups_store(self, address: str) -> bool:
        """Whether every lane stores to one place in device memory, once."""
        here = self.values.block
        graph = self.lanes.graph
        return not (
            self.lanes.influenced_by[here]
            or graph.loops_of.get(here)
            or self.atomics.in_threadgroup_memory(address)
        )

    def _scalar_store(self, i: Instruction, value: str, pointer: str) -> str:
        kind = i.operands[0].type
        volatile = "volatile " if i.volatile else ""
        if i.ordering:
            self.out.line(
                f"store atomic {volatile}{kind.text} {value}, ptr {pointer} {i.ordering}, "
                f"align {kind.size}"
            )
        else:
            self.out.line(f"store {volatile}{kind.text} {value}, ptr {pointer}, align 1")
        return ""

    def _put(self, kind: Type, value: str, pointer: str) -> str:
        self.out.line(f"store {kind.text} {value}, ptr {pointer}, align 1")
        return ""

    def _even_store(self, i: Instruction, base: str, stride: int) -> list[str]:
        value, address = i.operands
        kind = value.type

        def pointers() -> str:
            return self.values.spread(address.type, base, stride)

        if stride <= 0 or not self._is_near(stride, kind):
            return self._scatter(value, pointers())
        text = self.values.vector(value)

        def even() -> list[str]:
            if stride == kind.size:
                align = self._align(i, address)
                self.masked_store(kind, text, base, self.values.mask, WIDTH, align)
                return []
            step = stride // kind.size
            order = [lane if place == 0 else -1 for lane in range(WIDTH) for place in range(step)]
            wide = self.values.shuffle(kind, text, order)
            self.masked_store(kind, wide, base, self._spread_mask(step, {0}), WIDTH * step, 1)
            return []

        return self._evenly(kind, even, lambda: self._scatter(value, pointers()))

    def masked_store(
        self, kind: Type, text: str, base: str, mask: str, count: int, align: int
    ) -> None:
        whole = vector(kind, count)
        if mask == ALL_LANES:
            self.out.line(f"store {whole} {text}, ptr {base}, align {align}")
            return
        self.out.call(
            "void",
            f"llvm.masked.store.v{count}{mangled(kind)}.p0",
            [(whole, text), ("ptr", base), ("i32", str(align)), (f"<{count} x i1>", mask)],
        )

    def _scatter(self, value: Operand, pointers: str) -> list[str]:
        kind = value.type
        if kind.bits < 32 or not self.masks_gathers:
            items = [item_of(self.values, value), Item(PTR, pointers, True)]
            each_lane(self.values, None, items, lambda t: self._put(kind, t[0], t[1]))
            return []
        self.out.call(
            "void",
            f"llvm.masked.scatter.v{WIDTH}{mangled(kind)}.v{WIDTH}p0",
            [
                (vector(kind), self.values.vector(value)),
                (f"<{WIDTH} x ptr>", pointers),
                ("i32", "1"),
                (MASK, self.values.mask),
            ],
        )
        return []
