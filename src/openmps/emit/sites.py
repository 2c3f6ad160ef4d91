"""Numbers the places where threads coordinate, for the runtime of one fibre per thread.

When lanes of a simdgroup stand at different calls, the one that comes first in the program must go
first, or lanes do not meet again. Compilers lay code out as they like, so each call is told its
number in an order that keeps loops together and joins after their branches.
"""

from __future__ import annotations

import re

from openmps.emit.flow import Graph
from openmps.emit.ir import UnsupportedIR
from openmps.emit.ir_instructions import read_function
from openmps.emit.ir_text import parse_module

_THREAD = "openmps_thread"
_DEFINE = re.compile(rf"^define\b.*@{_THREAD}\(")
_LABEL = re.compile(r'^([-a-zA-Z$._0-9]+|"[^"]*"):')
_CALL = re.compile(r"\bcall\b[^@]*@openmps_\w+\(")


def number_sites(ir_text: str) -> str:
    """Puts `openmps_at(number)` before each call. IR that cannot be ordered stays as it is."""
    try:
        function = read_function(parse_module(ir_text), _THREAD)
        order = Graph(function).index
    except UnsupportedIR:
        return ir_text
    lines = []
    entry = next(iter(function.blocks))
    block, inside, count = entry, False, 0
    for line in ir_text.splitlines():
        if _DEFINE.match(line):
            inside = True
        elif inside and line == "}":
            inside = False
        elif inside and (label := _LABEL.match(line)):
            block, count = f"%{label.group(1)}", 0
        elif inside and _CALL.search(line):
            count += 1
            # Blocks in order, calls of one block in order.
            number = order.get(block, len(order)) * 4096 + min(count, 4095)
            lines.append(f"  call void @openmps_at(i32 {number})")
        lines.append(line)
    lines.append("declare void @openmps_at(i32)")
    return "\n".join(lines) + "\n"
