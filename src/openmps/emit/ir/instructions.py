"""Reads one function of a module, instruction by instruction."""

from __future__ import annotations

import re

from openmps.emit.ir.model import (
    BINARY,
    CASTS,
    I1,
    METADATA,
    PTR,
    Block,
    Function,
    Instruction,
    Module,
    Operand,
    Type,
    UnsupportedIR,
)
from openmps.emit.ir.text import LABEL_LINE, SYMBOL, Cursor, parse_constant

_ORDERINGS = frozenset(["unordered", "monotonic", "acquire", "release", "acq_rel", "seq_cst"])


def read_function(module: Module, name: str) -> Function:
    if name not in module.definitions:
        raise UnsupportedIR("the module does not define the function", name)
    return _FunctionParser(module, module.definitions[name]).parse()


class _FunctionParser:
    def __init__(self, module: Module, text: str) -> None:
        self.module = module
        self.lines = text.split("\n")

    def parse(self) -> Function:
        head = self.lines[0]
        cursor = Cursor(head, self.module.types)
        match = SYMBOL.search(head)
        assert match
        cursor.at = match.end()
        cursor.expect("(")
        arguments: list[Operand] = []
        unnamed = 0
        while not cursor.accept(")"):
            kind = cursor.type()
            cursor.attributes()
            name = cursor.local() if cursor.peek("%") else f"%{unnamed}"
            unnamed += name[1:].isdigit()
            arguments.append(Operand(kind, name))
            cursor.accept(",")
        groups = re.findall(r"#\d+", head[cursor.at :])
        for group in groups:
            if group not in self.module.attributes:
                raise UnsupportedIR("attributes that the module does not list", head)
        attributes = " ".join(self.module.attributes[group] for group in groups)
        kept = re.findall(r'"[^"]*"="[^"]*"|\bsafestack\b', attributes)
        blocks = self._blocks(f"%{unnamed}")
        return Function(match.group(1).strip('"'), arguments, blocks, " ".join(kept))

    def _blocks(self, first: str) -> dict[str, Block]:
        blocks: dict[str, Block] = {}
        block: Block | None = None
        lines = iter(self.lines[1:-1])
        for raw in lines:
            line = raw.strip()
            if not line or line[0] in ";#":
                continue
            if raw[0] != " " and (match := LABEL_LINE.match(raw)):
                block = blocks["%" + match.group(1)] = Block("%" + match.group(1))
                continue
            if block is None:
                block = blocks[first] = Block(first)
            if line.startswith("switch ") and not line.endswith("]"):
                for more in lines:
                    line += " " + more.strip()
                    if more.strip().startswith("]"):
                        break
            block.instructions.append(self._instruction(line))
        for block in blocks.values():
            if not block.instructions:
                raise UnsupportedIR("an empty block", block.name)
        return blocks

    def _instruction(self, line: str) -> Instruction:
        cut = line.find(", !")
        if cut >= 0:
            line = line[:cut]
        cursor = Cursor(line, self.module.types)
        result = ""
        if line[0] == "%":
            result = cursor.local()
            cursor.expect("=")
        op = cursor.word()
        if op in ("tail", "musttail", "notail"):
            op = cursor.word()
        instruction = Instruction(op, result=result, text=line)
        if op in BINARY:
            self._same_type(cursor, instruction)
        elif op in CASTS:
            instruction.flags = cursor.flags()
            instruction.operands = [cursor.operand()]
            cursor.expect("to")
            instruction.type = cursor.type()
        else:
            reader = getattr(self, "_read_" + op, None)
            if reader is None:
                raise UnsupportedIR("an instruction the pass does not know", line)
            reader(cursor, instruction)
        cursor.end()
        return instruction

    def _same_type(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.flags = cursor.flags()
        first = cursor.operand()
        cursor.expect(",")
        instruction.operands = [first, Operand(first.type, cursor.value())]
        instruction.type = first.type

    def _list(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.flags = cursor.flags()
        instruction.operands = [cursor.operand()]
        while cursor.accept(","):
            instruction.operands.append(cursor.operand())

    def _read_fneg(self, cursor: Cursor, instruction: Instruction) -> None:
        self._list(cursor, instruction)
        instruction.type = instruction.operands[0].type

    _read_freeze = _read_fneg

    def _read_icmp(self, cursor: Cursor, instruction: Instruction) -> None:
        flags = cursor.flags()
        instruction.detail = cursor.word()
        self._same_type(cursor, instruction)
        instruction.flags = flags
        compared = instruction.type
        instruction.type = I1
        if compared.kind == "vector":
            text = f"<{compared.count} x i1>"
            instruction.type = Type("vector", text, count=compared.count, members=(I1,))

    _read_fcmp = _read_icmp

    def _read_select(self, cursor: Cursor, instruction: Instruction) -> None:
        self._list(cursor, instruction)
        instruction.type = instruction.operands[1].type

    def _read_phi(self, cursor: Cursor, instruction: Instruction) -> None:
        cursor.flags()
        instruction.type = cursor.type()
        while cursor.accept("["):
            instruction.operands.append(Operand(instruction.type, cursor.value()))
            cursor.expect(",")
            instruction.targets.append(cursor.local())
            cursor.expect("]")
            cursor.accept(",")

    def _read_br(self, cursor: Cursor, instruction: Instruction) -> None:
        if not cursor.peek("label"):
            instruction.operands = [cursor.operand()]
            cursor.expect(",")
        while cursor.accept("label"):
            instruction.targets.append(cursor.local())
            cursor.accept(",")

    def _read_switch(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.operands = [cursor.operand()]
        cursor.expect(",")
        cursor.expect("label")
        instruction.targets = [cursor.local()]
        cursor.expect("[")
        while not cursor.accept("]"):
            instruction.cases.append(cursor.operand().value)
            cursor.expect(",")
            cursor.expect("label")
            instruction.targets.append(cursor.local())

    def _read_ret(self, cursor: Cursor, instruction: Instruction) -> None:
        if not cursor.accept("void"):
            instruction.operands = [cursor.operand()]

    def _read_unreachable(self, cursor: Cursor, instruction: Instruction) -> None:
        pass

    def _access(self, cursor: Cursor, instruction: Instruction) -> None:
        while (word := cursor.peek_word()) in ("atomic", "volatile"):
            cursor.at += len(word)
            if word == "volatile":
                instruction.volatile = True
            else:
                instruction.ordering = "monotonic"

    def _ordering(self, cursor: Cursor, instruction: Instruction) -> None:
        if cursor.accept("syncscope"):
            cursor.balanced()
        instruction.ordering = self._one_of(cursor, _ORDERINGS)

    def _one_of(self, cursor: Cursor, words: frozenset[str]) -> str:
        if cursor.peek_word() not in words:
            raise cursor.fail(f"one of {', '.join(sorted(words))}")
        return cursor.word()

    def _read_load(self, cursor: Cursor, instruction: Instruction) -> None:
        self._access(cursor, instruction)
        instruction.type = cursor.type()
        cursor.expect(",")
        instruction.operands = [cursor.operand()]
        if instruction.ordering:
            self._ordering(cursor, instruction)

    def _read_store(self, cursor: Cursor, instruction: Instruction) -> None:
        self._access(cursor, instruction)
        value = cursor.operand()
        cursor.expect(",")
        instruction.operands = [value, cursor.operand()]
        if instruction.ordering:
            self._ordering(cursor, instruction)

    def _read_atomicrmw(self, cursor: Cursor, instruction: Instruction) -> None:
        self._access(cursor, instruction)
        instruction.detail = cursor.word()
        address = cursor.operand()
        cursor.expect(",")
        instruction.operands = [address, cursor.operand()]
        instruction.type = instruction.operands[1].type
        self._ordering(cursor, instruction)

    def _read_cmpxchg(self, cursor: Cursor, instruction: Instruction) -> None:
        while cursor.peek_word() in ("weak", "volatile"):
            cursor.word()
        instruction.operands = [cursor.operand()]
        while cursor.accept(","):
            instruction.operands.append(cursor.operand())
        compared = instruction.operands[1].type
        instruction.type = Type("struct", f"{{ {compared.text}, i1 }}", members=(compared, I1))
        self._ordering(cursor, instruction)
        instruction.ordering += " " + self._one_of(cursor, _ORDERINGS)

    def _read_fence(self, cursor: Cursor, instruction: Instruction) -> None:
        self._ordering(cursor, instruction)

    def _read_alloca(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.type = PTR
        instruction.source = cursor.type()
        if cursor.peek(",") and not cursor.peek(", align"):
            cursor.expect(",")
            count = cursor.operand()
            if not count.value.isdigit():
                raise instruction.unsupported("an alloca whose size is not constant")
            instruction.source = Type(
                "array",
                f"[{count.value} x {instruction.source.text}]",
                count=int(count.value),
                members=(instruction.source,),
            )

    def _read_getelementptr(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.flags = cursor.flags()
        instruction.source = cursor.type()
        cursor.expect(",")
        self._list(cursor, instruction)
        instruction.type = PTR

    def _read_extractvalue(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.operands = [cursor.operand()]
        instruction.indices = self._numbers(cursor)
        kind = instruction.operands[0].type
        for index in instruction.indices:
            kind = kind.member(index)
        instruction.type = kind

    def _read_insertvalue(self, cursor: Cursor, instruction: Instruction) -> None:
        aggregate = cursor.operand()
        cursor.expect(",")
        instruction.operands = [aggregate, cursor.operand()]
        instruction.indices = self._numbers(cursor)
        instruction.type = aggregate.type

    def _numbers(self, cursor: Cursor) -> list[int]:
        numbers = []
        while cursor.accept(","):
            cursor.space()
            numbers.append(int(cursor.value()))
        return numbers

    def _read_extractelement(self, cursor: Cursor, instruction: Instruction) -> None:
        self._list(cursor, instruction)
        instruction.type = instruction.operands[0].type.members[0]

    def _read_insertelement(self, cursor: Cursor, instruction: Instruction) -> None:
        self._list(cursor, instruction)
        instruction.type = instruction.operands[0].type

    def _read_shufflevector(self, cursor: Cursor, instruction: Instruction) -> None:
        self._list(cursor, instruction)
        mask = instruction.operands.pop()
        leaves = parse_constant(mask.value, mask.type, self.module.types)
        instruction.indices = [
            -1 if leaf.value in ("poison", "undef") else int(leaf.value) for leaf in leaves
        ]
        element = instruction.operands[0].type.members[0]
        count = mask.type.count
        text = f"<{count} x {element.text}>"
        instruction.type = Type("vector", text, count=count, members=(element,))

    def _read_call(self, cursor: Cursor, instruction: Instruction) -> None:
        instruction.flags = cursor.flags()
        instruction.convention = cursor.convention()
        instruction.type = cursor.type()
        if cursor.peek("("):
            cursor.balanced()  # the function type of a call to a variadic function
        if not cursor.peek("@"):
            raise instruction.unsupported("a call through a pointer")
        instruction.detail = cursor.value()[1:].strip('"')
        cursor.expect("(")
        while not cursor.accept(")"):
            kind = cursor.type()
            if kind == METADATA:
                cursor.at = cursor.text.rindex(")")
                continue
            instruction.extensions.append(cursor.attributes())
            instruction.operands.append(Operand(kind, cursor.value()))
            cursor.accept(",")
        if instruction.detail == "llvm.assume" and cursor.peek("["):
            cursor.at = len(cursor.text)  # what it promises with its operands, too
