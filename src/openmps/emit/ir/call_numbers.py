"""Numbers the places where threads coordinate, for the runtime of one fibre per thread.

When lanes of a simdgroup stand at different calls, the one that comes first in the program must go
first, or lanes do not meet again. Compilers lay code out as they like, so each call is told its
number in an order that keeps loops together and joins after their branches.
"""

from __future__ import annotations

import re

from openmps.emit.ir.flow import Graph
from openmps.emit.ir.model import Block, Function, Instruction, UnsupportedIR

_THREAD = "openmps_thread"
_DEFINE = re.compile(rf"^define\b.*@{_THREAD}\(")
_LABEL = re.compile(r'^([-a-zA-Z$._0-9]+|"[^"]*"):')
_CALL = re.compile(r"\bcall\b[^@]*@openmps_\w+\(")
_NAMED = re.compile(r"@openmps_\w+\(")
_END = re.compile(r"^  (br|switch|ret|unreachable)\b")
_TARGET = re.compile(r'\blabel (%(?:[-a-zA-Z$._0-9]+|"[^"]*"))')


def number_calls(ir_text: str) -> str:
    """Puts `openmps_at(number)` before each call. Calls in loops that are not reducible stay as
    they are: lanes then meet by where the call lies. Raises UnsupportedIR for what it cannot read.
    """
    blocks = _blocks(ir_text)
    entry = next(iter(blocks))
    try:
        order = Graph(Function(_THREAD, [], blocks, "")).index
    except UnsupportedIR:
        return ir_text
    lines = []
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
        elif inside and _NAMED.search(line):
            raise UnsupportedIR("a call that is not understood", line)
        lines.append(line)
    lines.append("declare void @openmps_at(i32)")
    return "\n".join(lines) + "\n"


def _blocks(ir_text: str) -> dict[str, Block]:
    """The thread function's blocks, of which each has its last instruction alone."""
    lines = ir_text.splitlines()
    begin = next((at for at, line in enumerate(lines) if _DEFINE.match(line)), None)
    if begin is None or "}" not in lines[begin:]:
        raise UnsupportedIR("the module does not define the function", _THREAD)
    block = Block("%entry of the function")
    blocks = {block.name: block}
    body = lines[begin + 1 : lines.index("}", begin)]
    for at, line in enumerate(body):
        if label := _LABEL.match(line):
            if at == 0:
                blocks.clear()
            block = blocks[f"%{label.group(1)}"] = Block(f"%{label.group(1)}")
        elif end := _END.match(line):
            whole = line
            if end[1] == "switch" and "]" not in line:
                whole = " ".join(body[at : body.index("  ]", at)])
            targets = [target.group(1) for target in _TARGET.finditer(whole)]
            block.instructions.append(Instruction(end[1], targets=targets))
    for block in blocks.values():
        if len(block.instructions) != 1 or not {*block.end.targets} <= blocks.keys():
            raise UnsupportedIR("a block whose end is not understood", block.name)
    return blocks
