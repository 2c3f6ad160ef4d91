"""Values that are used outside the loop that makes them."""

from __future__ import annotations

from openmps.emit.ir.flow import Graph
from openmps.emit.ir.model import Function, Instruction, Operand


def mark_leaving_values(function: Function, graph: Graph) -> None:
    """Gives each value that is used outside its loop a copy, made where it is defined. In a loop
    that lanes leave one by one the copy keeps what each lane saw last."""
    block_of = {
        i.result: name
        for name, block in function.blocks.items()
        for i in block.instructions
        if i.result and graph.loops_of[name]
    }
    copies: dict[tuple[str, str], Instruction] = {}
    for name, block in function.blocks.items():
        for i in block.instructions:
            for position, operand in enumerate(i.operands):
                home = block_of.get(operand.value)
                if home is None:
                    continue
                place = i.targets[position] if i.op == "phi" else name
                left = [loop for loop in graph.loops_of[home] if place not in loop.blocks]
                if not left:
                    continue
                key = (operand.value, left[-1].header)
                if key not in copies:
                    result = f"{operand.value}.left{graph.index[left[-1].header]}"
                    copy = Instruction("leave", operand.type, result, [operand])
                    copy.targets = [loop.header for loop in left]
                    copies[key] = copy
                i.operands[position] = Operand(operand.type, copies[key].result)
    for (value, _), copy in copies.items():
        block = function.blocks[block_of[value]]
        at = next(k for k, i in enumerate(block.instructions) if i.result == value) + 1
        while block.instructions[at].op == "phi":
            at += 1
        block.instructions.insert(at, copy)
