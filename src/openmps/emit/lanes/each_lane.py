"""One lane after the other: for what has no form of 32, such as atomics and most library calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from openmps.emit.ir.model import Operand, Type, integer
from openmps.emit.lanes.values import Values, vector
from openmps.emit.lanes.width import WIDTH


class Item(NamedTuple):
    """What each lane is given: one scalar for all, or a vector (of an operand, if of one)."""

    type: Type
    text: str
    wide: bool
    operand: Operand | None = None


def item_of(values: Values, operand: Operand) -> Item:
    if values.uniform(operand):
        return Item(operand.type, values.scalar(operand), False)
    return Item(operand.type, values.vector(operand), True, operand)


def each_lane(
    values: Values,
    kind: Type | None,
    items: list[Item],
    act: Callable[[list[str]], str],
    *,
    short: bool = False,
) -> str:
    """Runs `act` for every active lane in order; its results as a vector if `kind` is given.

    Items go through memory: a lane that is not constant is slow to take from a register.
    short: `act` takes less time than counting lanes; where all are active it is written 32 times.
    """
    out = values.out
    if short and kind is None:
        _all_or_each(values, items, act)
        return ""
    arrays = []
    for item in items:
        if not item.wide:
            arrays.append("")
            continue
        stored = _in_memory(item.type)
        text = item.text
        if stored != item.type:
            text = out.let(f"zext {vector(item.type)} {text} to {vector(stored)}")
        arrays.append(out.alloca(vector(stored)))
        out.line(f"store {vector(stored)} {text}, ptr {arrays[-1]}")
    results = out.alloca(vector(_in_memory(kind))) if kind else ""
    bits = values.mask_bits(values.mask)
    hints = ("lanes", "lane", "act", "acted", "lanes.done")
    before, loop, body, last, after = (out.new_label(hint) for hint in hints)
    out.line(f"br label %{before}")
    out.label(before)
    out.line(f"br label %{loop}")
    out.label(loop)
    left, rest = out.name(), out.name()
    out.line(f"{left} = phi i32 [ {bits}, %{before} ], [ {rest}, %{last} ]")
    some = out.let(f"icmp ne i32 {left}, 0")
    out.line(f"br i1 {some}, label %{body}, label %{after}")
    out.label(body)
    lane = out.call("i32", "llvm.cttz.i32", [("i32", left), ("i1", "true")])
    index = out.let(f"zext i32 {lane} to i64")
    with values.aside():
        texts = []
        for item, array in zip(items, arrays, strict=True):
            if not item.wide:
                texts.append(item.text)
                continue
            stored = _in_memory(item.type)
            place = out.let(f"getelementptr {stored.text}, ptr {array}, i64 {index}")
            text = out.let(f"load {stored.text}, ptr {place}")
            if stored != item.type:
                text = out.let(f"trunc {stored.text} {text} to {item.type.text}")
            texts.append(text)
        result = act(texts)
        if kind:
            stored = _in_memory(kind)
            if stored != kind:
                result = out.let(f"zext {kind.text} {result} to {stored.text}")
            place = out.let(f"getelementptr {stored.text}, ptr {results}, i64 {index}")
            out.line(f"store {stored.text} {result}, ptr {place}")
    lower = out.let(f"sub i32 {left}, 1")
    out.line(f"{rest} = and i32 {left}, {lower}")
    out.line(f"br label %{last}")
    out.label(last)
    out.line(f"br label %{loop}")
    out.label(after)
    if not kind:
        return ""
    stored = _in_memory(kind)
    text = out.let(f"load {vector(stored)}, ptr {results}")
    if stored != kind:
        text = out.let(f"trunc {vector(stored)} {text} to {vector(kind)}")
    return text


def _in_memory(kind: Type) -> Type:
    """As one element of an array: vectors of bits, and of odd widths, are packed in memory."""
    if kind.kind != "int":
        return kind
    return integer(max(8, 1 << (kind.bits - 1).bit_length()))


def _lane_of(values: Values, item: Item, lane: int) -> str:
    if not item.wide:
        return item.text
    if item.operand is not None:
        return values.at_constant_lane(item.operand, lane)
    return values.out.let(f"extractelement {vector(item.type)} {item.text}, i64 {lane}")


def _all_or_each(values: Values, items: list[Item], act: Callable[[list[str]], str]) -> None:
    out = values.out
    bits = values.mask_bits(values.mask)
    every, some, done = (out.new_label(hint) for hint in ("every", "some", "each.done"))
    whole = out.let(f"icmp eq i32 {bits}, -1")
    out.line(f"br i1 {whole}, label %{every}, label %{some}")
    out.label(every)
    with values.aside():
        # What each lane is given first, then what is done: nothing is written in between, so that
        # what comes from memory may be loaded lane by lane.
        for texts in [[_lane_of(values, item, lane) for item in items] for lane in range(WIDTH)]:
            act(texts)
    out.line(f"br label %{done}")
    out.label(some)
    each_lane(values, None, items, act)
    out.line(f"br label %{done}")
    out.label(done)
