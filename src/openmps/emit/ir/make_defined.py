"""Makes defined in generated code what is so on a GPU and not in C++: alignments and shifts.

Kernels cast pointers as they like, and shift by what they like: Metal counts the low bits. No C++
type can be laid out with an alignment and yet be read without it, and no header can redefine a
shift of integers, so both are done on the compiler's own output. What is written in a way that is
not known here is refused: left alone, it would be wrong without a word.
"""

from __future__ import annotations

import re

from openmps.emit.ir.model import UnsupportedIR
from openmps.emit.ir.text import Cursor

_ALIGN = re.compile(r"\balign \d+")
_DEREFERENCEABLE = re.compile(r" dereferenceable(_or_null)?\(\d+\)")
_METADATA = re.compile(r", !(?:align|dereferenceable|dereferenceable_or_null) !\d+")
# Not the name of a value or of a function, and no part of a longer word.
_ALIGNED = re.compile(
    r'(?<![%@\w.$"-])(?:align\b(?! 1\b)|dereferenceable)|"(?:align|dereferenceable)'
)
_SHIFTING = re.compile(r'(?<![%@\w.$"!-])(?:shl|lshr|ashr)\b')
_NAME = r'%(?:[-\w.$]+|"[^"]*")'
# Atomic accesses need theirs; variables keep theirs.
_KEPT = re.compile(rf"^ +(?:(?:{_NAME} = )?(?:alloca|load atomic|atomicrmw|cmpxchg)|store atomic) ")
_SHIFT = re.compile(rf"^  (?P<name>{_NAME}) = (?P<op>shl|lshr|ashr) ")
_NO_CODE = ("@", "!", ";", "%", "attributes ", "source_filename ", "target ", "$", "^")


def make_ir_defined(text: str) -> str:
    """For LLVM IR that has not been optimised yet. Raises UnsupportedIR."""
    lines = []
    for line in text.splitlines():
        if not line.startswith(_NO_CODE):
            if "align" in line or "dereferenceable" in line:
                line = _unaligned(line)
            if "sh" in line and _SHIFTING.search(line):
                lines += _low_bits(line)
                continue
        lines.append(line)
    return "\n".join(lines) + "\n"


def _unaligned(line: str) -> str:
    line = _METADATA.sub("", _DEREFERENCEABLE.sub("", line))
    if _KEPT.match(line):
        return line
    line = _ALIGN.sub("align 1", line)
    if _ALIGNED.search(line):
        raise UnsupportedIR("an alignment that the pass cannot take out", line)
    return line


def _low_bits(line: str) -> list[str]:
    """A shift, after what makes it count the low bits; without flags, which were of all bits."""
    found = _SHIFT.match(line)
    if found is None:
        raise UnsupportedIR("a shift that the pass cannot read", line)
    cursor = Cursor(line.partition(", !")[0], {}, found.end())
    cursor.flags()
    kind = cursor.type()
    value = cursor.value()
    cursor.expect(",")
    count = cursor.value()
    cursor.end()
    element = kind.members[0] if kind.kind == "vector" else kind
    if element.kind != "int" or element.bits & (element.bits - 1):
        raise UnsupportedIR("a shift of a type that the pass does not know", line)
    low = str(element.bits - 1)
    if kind.scalar and count.isdigit() and int(count) < element.bits:
        return [line]
    if kind.kind == "vector":
        low = "<" + ", ".join([f"{element.text} {low}"] * kind.count) + ">"
    name = f'%"low.{found["name"][2:]}' if '"' in found["name"] else f"%low.{found['name'][1:]}"
    return [
        f"  {name} = and {kind.text} {count}, {low}",
        f"  {found['name']} = {found['op']} {kind.text} {value}, {name}",
    ]


_ALIGNED_MOVE = re.compile(r"\b(v?)mov(?:aps|apd|dqa(?:32|64)?)\b")


def make_assembly_defined(text: str) -> str:
    """For x86-64 assembly that g++ wrote. Its shifts count the low bits by themselves."""

    def unaligned(match: re.Match[str]) -> str:
        move = match.group()
        return move.replace("movap", "movup").replace("movdqa", "movdqu")

    return _ALIGNED_MOVE.sub(unaligned, text)
