"""Bit casts between values of several scalars: their bits taken apart and put together anew."""

from __future__ import annotations

from openmps.emit.ir.model import Instruction, Operand, Type, UnsupportedIR, integer
from openmps.emit.scalar.values import Scalars, leaves_of


def bitcast(out: Scalars, instruction: Instruction) -> list[Operand]:
    source = out.leaves(instruction.operands[0])
    wanted = [kind for kind, _ in leaves_of(instruction.type)]
    if len(source) == len(wanted):
        return [
            o if o.type == kind else out.emit("bitcast", kind, [o])
            for o, kind in zip(source, wanted, strict=True)
        ]
    total = integer(sum(o.type.bits for o in source))
    if total.bits > 64:
        return _bitcast_wide(out, source, wanted)
    whole = Operand(total, "0")
    at = 0
    for operand in source:
        bits = _as_integer(out, operand)
        wide = bits if bits.type == total else out.emit("zext", total, [bits])
        if at:
            wide = out.emit("shl", total, [wide, Operand(total, str(at))])
        whole = wide if not at else out.emit("or", total, [whole, wide])
        at += operand.type.bits
    return _split(out, whole, wanted)


def _bitcast_wide(out: Scalars, source: list[Operand], wanted: list[Type]) -> list[Operand]:
    """Regroups element by element where one side's elements divide the other's."""
    found: list[Operand] = []
    if len(source) > len(wanted) and len(source) % len(wanted) == 0:
        step = len(source) // len(wanted)
        for index, kind in enumerate(wanted):
            group = source[index * step : (index + 1) * step]
            text = f"<{step} x {group[0].type.text}>"
            vector = Type("vector", text, count=step, members=(group[0].type,))
            name = out.name()
            out.parts[name] = group
            found += bitcast(out, Instruction("bitcast", kind, "", [Operand(vector, name)]))
        return found
    if len(wanted) % len(source) == 0:
        step = len(wanted) // len(source)
        for index, operand in enumerate(source):
            found += _split(
                out, _as_integer(out, operand), wanted[index * step : (index + 1) * step]
            )
        return found
    raise UnsupportedIR("a bitcast between vectors whose elements do not divide")


def _as_integer(out: Scalars, operand: Operand) -> Operand:
    if operand.type.kind == "int":
        return operand
    kind = integer(operand.type.bits)
    op = "ptrtoint" if operand.type.kind == "ptr" else "bitcast"
    return out.emit(op, kind, [operand])


def _split(out: Scalars, whole: Operand, wanted: list[Type]) -> list[Operand]:
    found = []
    at = 0
    for kind in wanted:
        part = whole
        if at:
            part = out.emit("lshr", whole.type, [whole, Operand(whole.type, str(at))])
        narrow = integer(kind.bits)
        if narrow != part.type:
            part = out.emit("trunc", narrow, [part])
        if kind.kind == "float":
            part = out.emit("bitcast", kind, [part])
        elif kind.kind == "ptr":
            part = out.emit("inttoptr", kind, [part])
        found.append(part)
        at += kind.bits
    return found
