"""NVRTC's messages in the form of other compilers', which compiler_messages.py understands.

    openmps:program(2): error: identifier "x" is undefined
        return x;
               ^
              detected during instantiation of "T f(T) [with T=float]" at line 9 of openmps:program
becomes
    openmps:program:2:12: error: identifier "x" is undefined
    openmps:program:9:1: note: asked for here
"""

from __future__ import annotations

import re

_HEAD = re.compile(
    r"^(?P<file>.*?)\((?P<line>\d+)\): "
    r"(?P<kind>(?:catastrophic |internal )?error|warning|remark)(?: #[\w-]+)?: (?P<text>.*)$"
)
_CARET = re.compile(r"^ *\^\s*$")
_ASKED = re.compile(r'\bat line (?P<line>\d+)(?: of "?(?P<file>[^"]+?)"?)?$')
_INDENT = 2  # before the line that a caret points into
_SHARED = re.compile(r"uses too much shared data \(0x([0-9a-f]+) bytes")


def as_compiler_messages(log: str) -> str:
    lines = log.splitlines()
    said: list[str] = []
    file = ""
    for at, line in enumerate(lines):
        head = _HEAD.match(line)
        if head:
            file = head["file"]
            kind = "error" if head["kind"].endswith("error") else "warning"
            said.append(f"{file}:{head['line']}:{_column(lines, at)}: {kind}: {head['text']}")
            continue
        asked = _ASKED.search(line)
        if asked and file:
            said.append(f"{asked['file'] or file}:{asked['line']}:1: note: asked for here")
    return "\n".join(said)


def shared_bytes(log: str) -> int | None:
    """How much shared memory a kernel declares, if that is why it was refused."""
    found = _SHARED.search(log)
    return int(found[1], 16) if found else None


def _column(lines: list[str], head: int) -> int:
    for line in lines[head + 1 : head + 4]:
        if _CARET.match(line):
            return max(line.index("^") - _INDENT, 0) + 1
        if _HEAD.match(line):
            break
    return 1
