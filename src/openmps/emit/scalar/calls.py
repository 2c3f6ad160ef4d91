"""Calls of LLVM's own functions on vectors and aggregates, and of those that say nothing here."""

from __future__ import annotations

import re

from openmps.emit.ir.model import I1, VOID, Function, Instruction, Operand, integer
from openmps.emit.scalar.copies import Copies
from openmps.emit.scalar.values import Scalars

_DROPPED_CALLS = (
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.experimental.noalias",
    "llvm.dbg.",
    "llvm.stacksave",
    "llvm.stackrestore",
    "llvm.invariant.end",
    "llvm.prefetch",
    "llvm.donothing",
    "llvm.sideeffect",
    "llvm.va_",
)
_FORWARDING_CALLS = (
    "llvm.expect",
    "llvm.launder.",
    "llvm.strip.",
    "llvm.ssa.copy",
    "llvm.annotation",
)
_OVERFLOW = re.compile(r"llvm\.([su])(add|sub|mul)\.with\.overflow\.")
_VECTOR_REDUCE = re.compile(r"llvm\.vector\.reduce\.(\w+)\.")
_COPY = re.compile(r"llvm\.(memcpy|memmove|memset)(\.inline)?\.")


class Calls:
    def __init__(self, out: Scalars, function: Function) -> None:
        self.out = out
        self.copies = Copies(out, function)

    def rewrite(self, instruction: Instruction) -> None:
        name = instruction.detail
        if name.startswith(_DROPPED_CALLS):
            if instruction.type != VOID:
                self.out.same[instruction.result] = Operand(instruction.type, "null")
            return
        if name.startswith("llvm.is.constant"):
            self.out.same[instruction.result] = Operand(I1, "false")
            return
        if name.startswith(_FORWARDING_CALLS):
            self.out.define(instruction, self.out.leaves(instruction.operands[0]))
            return
        if name.startswith("llvm.objectsize"):
            low = instruction.operands[1].value == "true"
            self.out.same[instruction.result] = Operand(instruction.type, "0" if low else "-1")
            return
        if match := _OVERFLOW.match(name):
            self._overflow(instruction, match.group(1), match.group(2))
            return
        if match := _COPY.match(name):
            self.copies.write(instruction, match.group(1))
            return
        if match := _VECTOR_REDUCE.match(name):
            self._reduce(instruction, match.group(1))
            return
        if instruction.type.composite or any(o.type.composite for o in instruction.operands):
            self._each_element(instruction)
            return
        self.out.keep(instruction)

    def _each_element(self, instruction: Instruction) -> None:
        if not instruction.detail.startswith("llvm.") or instruction.type.kind != "vector":
            raise instruction.unsupported("a call that passes an aggregate")
        element = instruction.type.members[0]
        suffixes = f".v{instruction.type.count}"
        name = re.sub(re.escape(suffixes) + r"(?=[a-z])", ".", instruction.detail)
        columns = [
            self.out.leaves(o) if o.type.composite else self.out.leaves(o) * instruction.type.count
            for o in instruction.operands
        ]
        self.out.parts[instruction.result] = [
            self.out.emit("call", element, list(row), detail=name, flags=instruction.flags)
            for row in zip(*columns, strict=True)
        ]

    def _reduce(self, instruction: Instruction, operation: str) -> None:
        leaves = [leaf for operand in instruction.operands for leaf in self.out.leaves(operand)]
        found = leaves[0]
        intrinsic = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum"}
        intrinsic |= {"fminimum": "minimum", "smax": "smax", "smin": "smin"}
        intrinsic |= {"umax": "umax", "umin": "umin"}
        for leaf in leaves[1:]:
            if operation in intrinsic:
                letter = "i" if leaf.type.kind == "int" else "f"
                name = f"llvm.{intrinsic[operation]}.{letter}{leaf.type.bits}"
                found = self.out.emit("call", leaf.type, [found, leaf], detail=name)
            else:
                found = self.out.emit(operation, leaf.type, [found, leaf], flags=instruction.flags)
        self.out.same[instruction.result] = found

    def _overflow(self, instruction: Instruction, sign: str, operation: str) -> None:
        left, right = (self.out.resolve(o) for o in instruction.operands)
        kind = left.type
        zero = Operand(kind, "0")
        if not kind.scalar:
            raise instruction.unsupported("an overflow check on vectors")
        if operation == "mul":
            wide = integer(kind.bits * 2)
            extend = "sext" if sign == "s" else "zext"
            factors = [self.out.emit(extend, wide, [o]) for o in (left, right)]
            product = self.out.emit("mul", wide, factors)
            value = self.out.emit("trunc", kind, [product])
            again = self.out.emit(extend, wide, [value])
            over = self.out.emit("icmp", I1, [again, product], detail="ne")
        else:
            value = self.out.emit(operation, kind, [left, right])
            if sign == "u":
                pair = [value, left] if operation == "add" else [left, right]
                over = self.out.emit("icmp", I1, pair, detail="ult")
            else:
                first = self.out.emit("xor", kind, [left, value])
                second = self.out.emit(
                    "xor",
                    kind,
                    [right if operation == "sub" else value, left if operation == "sub" else right],
                )
                both = self.out.emit("and", kind, [first, second])
                over = self.out.emit("icmp", I1, [both, zero], detail="slt")
        self.out.parts[instruction.result] = [value, over]
