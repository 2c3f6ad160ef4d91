"""Loads, stores and atomics of 32 lanes, and their private arrays.

Nothing is assumed to be aligned except private memory and atomics: kernels cast pointers freely.
"""

from __future__ import annotations

from collections.abc import Callable

from openmps.emit.ir import I1, Block, Function, Instruction, Operand, Type
from openmps.emit.lane_groups import LARGEST_STEP, Group, find_groups
from openmps.emit.lane_values import ALL_LANES, MASK, Values, indices, mangled, vector
from openmps.emit.private import WIDTH

_REDUCIBLE = {
    "add": "add",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "max": "smax",
    "min": "smin",
    "umax": "umax",
    "umin": "umin",
}
# Offset of Threadgroup::dynamic
_DYNAMIC = 32


class Memory:
    def __init__(self, values: Values, function: Function) -> None:
        self.values = values
        self.out = values.out
        self.lanes = values.lanes
        self.function = function
        self.groups: dict[int, Group] = {}
        self.defined = {i.result: i for b in function.blocks.values() for i in b.instructions}
        self.used = {
            o.value for b in function.blocks.values() for i in b.instructions for o in i.operands
        }

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
            self._atomic(i)
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
        out, values = self.out, self.values
        base = values.scalar(Operand(address.type, address.value + "?base"))
        ok = values.scalar(Operand(I1, address.value + "?ok"))
        even, uneven, after = (out.new_label(hint) for hint in ("even", "uneven", "either"))
        ends = [out.new_label("even.end"), out.new_label("uneven.end")]
        out.line(f"br i1 {ok}, label %{even}, label %{uneven}, !prof !0")
        out.label(even)
        with values.aside():
            found = [quick(base)]
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
                lambda base: wide(group, base, back),
                lambda: narrow(group, address, back),
                group.kind,
            )
        else:
            texts = wide(group, self.values.scalar(address), back)
        for (member, _), text in zip(group.members, texts, strict=False):
            self.values.define_vector(member, text)

    def _moved(self, base: str, offset: int, kind: str = "ptr") -> str:
        return self.out.let(f"getelementptr i8, {kind} {base}, i64 {offset}") if offset else base

    def _wide_load(self, group: Group, base: str, back: int) -> list[str]:
        places = {place for _, place in group.members}
        mask = self._spread_mask(group.step, places)
        count = WIDTH * group.step
        text = self.masked_load(group.kind, self._moved(base, back), mask, count, 1)
        return [
            self.values.shuffle(group.kind, text, range(place, count, group.step), count)
            for _, place in group.members
        ]

    def _wide_store(self, group: Group, base: str, back: int) -> list[str]:
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

    def _gathers(self, group: Group, address: Operand, back: int) -> list[str]:
        pointers = self.values.vector(address)
        return [
            self._gather_from(
                group.kind,
                self._moved(pointers, back + place * group.kind.size, f"<{WIDTH} x ptr>"),
            )
            for _, place in group.members
        ]

    def _scatters(self, group: Group, address: Operand, back: int) -> list[str]:
        pointers = self.values.vector(address)
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
            result = self._each_lane(
                i.type, [address], lambda texts: self._scalar_load(i, texts[0])
            )
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
        if stride == size:
            return self.masked_load(kind, base, self.values.mask, WIDTH, self._align(i, address))
        if self._is_near(stride, kind):
            return self._strided_load(kind, base, stride // size)
        return self._gather_from(kind, self.values.spread(address.type, base, stride))

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
            text = values.at_lane(value, "") if values.uniform(value) else ""
            text = text or values.at_lane(value, values.last_lane(values.mask))
            self._scalar_store(i, text, values.scalar(address))
            return
        if i.ordering or i.volatile:
            self._each_lane(None, [value, address], lambda t: self._scalar_store(i, t[0], t[1]))
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

    def _even_store(self, i: Instruction, base: str, stride: int) -> list[str]:
        value, address = i.operands
        kind = value.type
        text = self.values.vector(value)
        if stride == kind.size:
            self.masked_store(kind, text, base, self.values.mask, WIDTH, self._align(i, address))
        elif stride > 0 and self._is_near(stride, kind):
            step = stride // kind.size
            order = []
            for lane in range(WIDTH):
                order += [lane] + [-1] * (step - 1)
            wide = self.values.shuffle(kind, text, order)
            self.masked_store(kind, wide, base, self._spread_mask(step, {0}), WIDTH * step, 1)
        else:
            self._scatter(value, self.values.spread(address.type, base, stride))
        return []

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

    # One lane after the other

    def each_lane(
        self, kind: Type | None, operands: list[Operand], act: Callable[[list[str]], str]
    ) -> str:
        return self._each_lane(kind, operands, act)

    def _each_lane(
        self, kind: Type | None, operands: list[Operand], act: Callable[[list[str]], str]
    ) -> str:
        """Runs `act` for every active lane in order; its results as a vector if `kind` is given.
        Operands go through memory: a lane that is not constant is slow to take from a register."""
        out, values = self.out, self.values
        arrays = []
        for operand in operands:
            array = ""
            if not values.uniform(operand):
                array = out.alloca(vector(operand.type))
                out.line(f"store {vector(operand.type)} {values.vector(operand)}, ptr {array}")
            arrays.append(array)
        uniform = [values.scalar(o) if values.uniform(o) else "" for o in operands]
        results = out.alloca(vector(kind)) if kind else ""
        bits = values.mask_bits(values.mask)
        before, loop, body, after = (
            out.new_label(hint) for hint in ("lanes", "lane", "act", "lanes.done")
        )
        out.line(f"br label %{before}")
        out.label(before)
        out.line(f"br label %{loop}")
        out.label(loop)
        left, rest = out.name(), out.name()
        last = out.new_label("acted")
        out.line(f"{left} = phi i32 [ {bits}, %{before} ], [ {rest}, %{last} ]")
        some = out.let(f"icmp ne i32 {left}, 0")
        out.line(f"br i1 {some}, label %{body}, label %{after}")
        out.label(body)
        lane = out.call("i32", "llvm.cttz.i32", [("i32", left), ("i1", "true")])
        index = out.let(f"zext i32 {lane} to i64")
        with values.aside():
            texts = []
            for operand, array, same in zip(operands, arrays, uniform, strict=True):
                if not array:
                    texts.append(same)
                    continue
                place = out.let(f"getelementptr {operand.type.text}, ptr {array}, i64 {index}")
                texts.append(out.let(f"load {operand.type.text}, ptr {place}"))
            result = act(texts)
            if kind:
                place = out.let(f"getelementptr {kind.text}, ptr {results}, i64 {index}")
                out.line(f"store {kind.text} {result}, ptr {place}")
        lower = out.let(f"sub i32 {left}, 1")
        out.line(f"{rest} = and i32 {left}, {lower}")
        out.line(f"br label %{last}")
        out.label(last)
        out.line(f"br label %{loop}")
        out.label(after)
        return out.let(f"load {vector(kind)}, ptr {results}") if kind else ""

    # Atomics

    def _atomic(self, i: Instruction) -> None:
        wanted = i.result in self.used
        address = i.operands[0]
        values = self.values
        alone = self._in_threadgroup_memory(address.value)
        if (
            i.op == "atomicrmw"
            and not wanted
            and values.uniform(address)
            and i.detail in _REDUCIBLE
        ):
            total = self._reduced(i)
            self._update(i, [values.scalar(address), total], alone)
            return
        text = self._each_lane(
            i.type if wanted else None, i.operands, lambda texts: self._update(i, texts, alone)
        )
        if wanted:
            values.define_vector(i, text)

    def _reduced(self, i: Instruction) -> str:
        """What all active lanes together do to one integer."""
        name = _REDUCIBLE[i.detail]
        kind = i.type
        bits = kind.bits
        neutral = {
            "and": -1,
            "smax": -(1 << (bits - 1)),
            "smin": (1 << (bits - 1)) - 1,
            "umin": -1,
        }.get(name, 0)
        text = self.values.vector(i.operands[1])
        text = self.values.blend(kind, self.values.mask, text, f"splat ({kind.text} {neutral})")
        return self.out.call(
            kind.text,
            f"llvm.vector.reduce.{name}.v{WIDTH}{kind.text}",
            [(vector(kind), text)],
        )

    def _in_threadgroup_memory(self, pointer: str, depth: int = 0) -> bool:
        """Whether only this OS thread can see the address, so that a plain update is atomic."""
        i = self.defined.get(pointer)
        if i is None or depth > 20:
            return False
        if i.op in ("ptradd", "freeze", "leave"):
            return self._in_threadgroup_memory(i.operands[0].value, depth + 1)
        if i.op == "select":
            return all(self._in_threadgroup_memory(o.value, depth + 1) for o in i.operands[1:])
        if i.op == "call":
            return i.detail.startswith("llvm.threadlocal.address")
        if i.op == "load":
            step = self.defined.get(i.operands[0].value)
            group = self.function.arguments[1].value
            return (
                step is not None
                and step.op == "ptradd"
                and not step.indices
                and step.offset == _DYNAMIC
                and step.operands[0].value == group
            )
        return i.op == "alloca"

    def _update(self, i: Instruction, texts: list[str], alone: bool) -> str:
        out = self.out
        kind = i.type
        if i.op == "cmpxchg":
            return self._exchange(i, texts, alone)
        pointer, value = texts
        if not alone:
            return out.let(
                f"atomicrmw {i.detail} ptr {pointer}, {kind.text} {value} {i.ordering}, "
                f"align {kind.size}"
            )
        old = out.let(f"load {kind.text}, ptr {pointer}, align 1")
        new = self._combined(i, old, value)
        out.line(f"store {kind.text} {new}, ptr {pointer}, align 1")
        return old

    def _combined(self, i: Instruction, old: str, value: str) -> str:
        out = self.out
        kind = i.type.text
        operation = i.detail
        if operation == "xchg":
            return value
        if operation in ("add", "sub", "and", "or", "xor", "fadd", "fsub"):
            return out.let(f"{operation} {kind} {old}, {value}")
        if operation == "nand":
            both = out.let(f"and {kind} {old}, {value}")
            return out.let(f"xor {kind} {both}, -1")
        names = {"max": "smax", "min": "smin", "fmax": "maxnum", "fmin": "minnum"}
        names |= {"fmaximum": "maximum", "fminimum": "minimum", "umax": "umax", "umin": "umin"}
        names |= {"usub_sat": "usub.sat"}
        if operation not in names:
            raise i.unsupported("an atomic operation the pass does not know")
        function = f"llvm.{names[operation]}.{mangled(i.type)}"
        return out.call(kind, function, [(kind, old), (kind, value)])

    def _exchange(self, i: Instruction, texts: list[str], alone: bool) -> str:
        out = self.out
        pointer, expected, new = texts
        kind = i.type.text
        if not alone:
            pair = out.let(
                f"cmpxchg ptr {pointer}, {kind} {expected}, {kind} {new} {i.ordering}, "
                f"align {i.type.size}"
            )
            return out.let(f"extractvalue {{ {kind}, i1 }} {pair}, 0")
        old = out.let(f"load {kind}, ptr {pointer}, align 1")
        same = out.let(f"icmp eq {kind} {old}, {expected}")
        stored = out.let(f"select i1 {same}, {kind} {new}, {kind} {old}")
        out.line(f"store {kind} {stored}, ptr {pointer}, align 1")
        return old
