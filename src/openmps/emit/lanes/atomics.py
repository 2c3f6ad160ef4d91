"""Atomic updates: lane by lane in order, or one for all lanes where nobody looks at the result."""

from __future__ import annotations

from openmps.emit.ir.model import Function, Instruction
from openmps.emit.lanes.each_lane import each_lane, item_of
from openmps.emit.lanes.values import DYNAMIC_OFFSET, Values, mangled, vector
from openmps.emit.lanes.width import WIDTH

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


class Atomics:
    def __init__(self, values: Values, function: Function) -> None:
        self.values = values
        self.out = values.out
        self.function = function
        self.defined = values.defined
        self.used = {
            o.value for b in function.blocks.values() for i in b.instructions for o in i.operands
        }

    def emit(self, i: Instruction) -> None:
        wanted = i.result in self.used
        address = i.operands[0]
        values = self.values
        alone = self.in_threadgroup_memory(address.value)
        if (
            i.op == "atomicrmw"
            and not wanted
            and values.uniform(address)
            and i.detail in _REDUCIBLE
        ):
            total = self._reduced(i)
            self._update(i, [values.scalar(address), total], alone)
            return
        items = [item_of(values, o) for o in i.operands]
        text = each_lane(
            values,
            i.type if wanted else None,
            items,
            lambda texts: self._update(i, texts, alone),
            short=alone,
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

    def in_threadgroup_memory(self, pointer: str, depth: int = 0) -> bool:
        """Whether only this OS thread can see the address, so that a plain update is atomic."""
        i = self.defined.get(pointer)
        if i is None or depth > 20:
            return False
        if i.op in ("ptradd", "freeze", "leave"):
            return self.in_threadgroup_memory(i.operands[0].value, depth + 1)
        if i.op == "select":
            return all(self.in_threadgroup_memory(o.value, depth + 1) for o in i.operands[1:])
        if i.op == "call":
            return i.detail.startswith("llvm.threadlocal.address")
        if i.op == "load":
            step = self.defined.get(i.operands[0].value)
            group = self.function.arguments[1].value
            return (
                step is not None
                and step.op == "ptradd"
                and not step.indices
                and step.offset == DYNAMIC_OFFSET
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
