"""Takes out of generated code what a GPU tolerates and C++ does not.

Kernels cast pointers as they like, and shift by what they like: Metal counts the low bits. No C++
type can be laid out with an alignment and yet be read without it, and no header can redefine a
shift of integers, so both are done on the compiler's own output.
"""

from __future__ import annotations

import re

_ALIGN = re.compile(r"\balign \d+")
_DEREFERENCEABLE = re.compile(r" dereferenceable(_or_null)?\(\d+\)")
# Atomic accesses need theirs; variables keep theirs.
_KEPT = re.compile(r"^@|\balloca\b|\bload atomic\b|\bstore atomic\b|\batomicrmw\b|\bcmpxchg\b")
_SHIFT = re.compile(
    r"^  %(?P<name>[\w.]+) = (?P<shift>(?:shl|lshr|ashr)[ a-z]* (?P<type>i(?P<bits>\d+))) "
    r"(?P<value>[^,]+), (?P<count>%[\w.]+)(?P<rest>.*)$"
)


def tolerate_ir(text: str) -> str:
    """For LLVM IR that has not been optimised yet."""
    lines = []
    for line in text.splitlines():
        if "align " in line or "dereferenceable" in line:
            if not _KEPT.search(line):
                line = _ALIGN.sub("align 1", line)
            line = _DEREFERENCEABLE.sub("", line)
        elif "sh" in line and (found := _SHIFT.match(line)):
            low = int(found["bits"]) - 1
            lines.append(f"  %low.{found['name']} = and {found['type']} {found['count']}, {low}")
            line = (
                f"  %{found['name']} = {found['shift']} {found['value']}, "
                f"%low.{found['name']}{found['rest']}"
            )
        lines.append(line)
    return "\n".join(lines) + "\n"


_ALIGNED_MOVE = re.compile(r"\b(v?)mov(?:aps|apd|dqa(?:32|64)?)\b")


def tolerate_assembly(text: str) -> str:
    """For x86-64 assembly that g++ wrote. Its shifts count the low bits by themselves."""

    def unaligned(match: re.Match[str]) -> str:
        move = match.group()
        return move.replace("movap", "movup").replace("movdqa", "movdqu")

    return _ALIGNED_MOVE.sub(unaligned, text)
