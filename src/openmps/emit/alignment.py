"""Lets every access be misaligned. Kernels cast pointers as they like; a GPU does not mind.

Done on the compiler's own output, because no type in C++ can be laid out with an alignment and yet
be read without it.
"""

from __future__ import annotations

import re

_ALIGN = re.compile(r"\balign \d+")
_DEREFERENCEABLE = re.compile(r" dereferenceable(_or_null)?\(\d+\)")
# Atomic accesses need theirs; variables keep theirs.
_KEPT = re.compile(r"^@|\balloca\b|\bload atomic\b|\bstore atomic\b|\batomicrmw\b|\bcmpxchg\b")


def relax_ir(text: str) -> str:
    """For LLVM IR that has not been optimised yet."""
    lines = []
    for line in text.splitlines():
        if "align " in line or "dereferenceable" in line:
            if not _KEPT.search(line):
                line = _ALIGN.sub("align 1", line)
            line = _DEREFERENCEABLE.sub("", line)
        lines.append(line)
    return "\n".join(lines) + "\n"


_ALIGNED_MOVE = re.compile(r"\b(v?)mov(?:aps|apd|dqa(?:32|64)?)\b")


def relax_assembly(text: str) -> str:
    """For x86-64 assembly that g++ wrote."""

    def unaligned(match: re.Match[str]) -> str:
        move = match.group()
        return move.replace("movap", "movup").replace("movdqa", "movdqu")

    return _ALIGNED_MOVE.sub(unaligned, text)
