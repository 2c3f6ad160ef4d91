"""One lane after the other: for what has no form of 32, such as atomics and most library calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from openmps.emit.ir import Operand, Type
from openmps.emit.lane_values import Values, vector
from openmps.emit.private import WIDTH


class Item(NamedTuple):
    """What each lane is given: one scalar for all, or a vector."""

    type: Type
    text: str
    wide: bool


def item_of(values: Values, operand: Operand) -> Item:
    if values.uniform(operand):
        return Item(operand.type, values.scalar(operand), False)
    return Item(operand.type, values.vector(operand), True)


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
        arrays.append(out.alloca(vector(item.type)) if item.wide else "")
        if item.wide:
            out.line(f"store {vector(item.type)} {item.text}, ptr {arrays[-1]}")
    results = out.alloca(vector(kind)) if kind else ""
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
            place = out.let(f"getelementptr {item.type.text}, ptr {array}, i64 {index}")
            texts.append(out.let(f"load {item.type.text}, ptr {place}"))
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


def _all_or_each(values: Values, items: list[Item], act: Callable[[list[str]], str]) -> None:
    out = values.out
    bits = values.mask_bits(values.mask)
    every, some, done = (out.new_label(hint) for hint in ("every", "some", "each.done"))
    whole = out.let(f"icmp eq i32 {bits}, -1")
    out.line(f"br i1 {whole}, label %{every}, label %{some}")
    out.label(every)
    with values.aside():
        for lane in range(WIDTH):
            texts = [
                out.let(f"extractelement {vector(item.type)} {item.text}, i64 {lane}")
                if item.wide
                else item.text
                for item in items
            ]
            act(texts)
    out.line(f"br label %{done}")
    out.label(some)
    each_lane(values, None, items, act)
    out.line(f"br label %{done}")
    out.label(done)
