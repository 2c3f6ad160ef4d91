"""What can be seen of the alignment of addresses in PTX: a power of two, up to 16, per register.

A register has two: what its value is a multiple of as a number, and as an address. They differ for
what a kernel loads from memory. If that is an address, it is one of a tensor's element, at least
four bytes aligned or only used by bytes and halves; if it is a number, it can be any.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from openmps.layouts import CudaLaunch

MOST = 16
LOADED_ADDRESS = 4
PARAMETER = "openmps_cuda_param_0"
_BUFFERS_END = CudaLaunch.buffers.offset + CudaLaunch.buffers.size
_VARIABLE = re.compile(r"\.align (\d+) \.[bufs]\d+ \t?([\w$.]+)")
_INSTRUCTION = re.compile(r"^\t(?:@!?%\w+ )?([a-z][\w.:]*) *\t(.*);$")
_TO = re.compile(r"%\w+")
_DECLARED = re.compile(r"\.reg \.[a-z]+(\d+) *\t?%([a-z]+)<")
_NO_INSTRUCTION = re.compile(r"^\s*(?:\.|//|$)")
# By name, as Address.bits and the accesses of make_defined.py take registers to be.
REGISTER_BITS = {"rs": 16, "h": 16, "r": 32, "f": 32, "hh": 32, "rd": 64, "fd": 64}


class UnsupportedPTX(Exception):
    """Text that cannot be read, where a guess could make wrong code."""

    def __init__(self, reason: str, line: str) -> None:
        super().__init__(f"{reason}: {line.strip()}")


@dataclass(frozen=True)
class Address:
    """`[base+offset]`; `text` as it is written."""

    text: str
    base: str
    offset: int

    @staticmethod
    def read(text: str) -> Address:
        base, _, offset = text.strip("[]").partition("+")
        return Address(text, base, int(offset) if offset else 0)

    def bits(self, space: str | None) -> int:
        """Of the address: in shared memory it may be a narrow one."""
        if self.base.startswith("%"):
            return 32 if re.match(r"%r\d", self.base) else 64
        return 32 if space == "shared" else 64


def split_operands(text: str) -> list[str]:
    """The operands between commas that no bracket encloses."""
    found, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]


# Floats, and the upper half of a product.
_NO_ALIGNMENT = frozenset({"f16", "f32", "f64", "bf16", "hi"})


def _targets(operand: str) -> list[str]:
    return _TO.findall(operand) if operand[:1] in ("%", "{") else []


def _of_number(value: int) -> int:
    return min(value & -value, MOST) if value else MOST


@dataclass(frozen=True)
class _Known:
    number: int
    address: int

    def both(self, other: _Known) -> _Known:
        return _Known(min(self.number, other.number), min(self.address, other.address))


_ANY = _Known(1, 1)
_TOP = _Known(MOST, MOST)


class Alignments:
    """For one text: the alignments of its variables, and of each function's registers."""

    def __init__(self, text: str, buffer_alignment: int) -> None:
        self._variables = {name: int(align) for align, name in _VARIABLE.findall(text)}
        self._buffers = buffer_alignment

    def of_function(self, text: str) -> FunctionAlignments:
        return FunctionAlignments(text, self._variables, self._buffers)


class FunctionAlignments:
    def __init__(self, text: str, variables: dict[str, int], buffers: int) -> None:
        self._variables = {**variables}
        self._buffers = buffers
        self._known: dict[str, _Known] = {}
        self._set: set[str] = set()  # registers that an instruction sets: not %tid.x
        self._parameter: dict[str, int] = {}  # registers that hold an address of the parameter
        self._variables.update((name, int(align)) for align, name in _VARIABLE.findall(text))
        for bits, name in _DECLARED.findall(text):
            if REGISTER_BITS.get(name) != int(bits):
                raise UnsupportedPTX(
                    "a kind of register that is not known", f"%{name}: {bits} bits"
                )
        self._unread: set[str] = set()  # registers that a line names that is not understood
        instructions = []
        for line in text.split("\n"):
            if found := _INSTRUCTION.match(line):
                instructions.append(found.groups())
            elif not _NO_INSTRUCTION.match(line):
                self._unread.update(_TO.findall(line))
        self._settle(instructions)

    def of_address(self, address: Address) -> int:
        return min(self._value(address.base).address, _of_number(address.offset))

    def _settle(self, instructions: list[tuple[str, ...]]) -> None:
        """From the best, downwards, until nothing changes: loops come round to their start."""
        read = [(name, split_operands(operands)) for name, operands in instructions]
        for _, operands in read:
            self._set.update(_targets(operands[0]))
        changed = True
        while changed:
            changed = False
            seen: dict[str, _Known] = {}
            for name, operands in read:
                known = self._result(name, operands)
                for to in _targets(operands[0]):
                    seen[to] = seen[to].both(known) if to in seen else known
            for to, known in seen.items():
                if self._known.get(to, _TOP) != known:
                    self._known[to] = self._known.get(to, _TOP).both(known)
                    changed = True

    def _value(self, text: str) -> _Known:
        if text.startswith("%"):
            if text in self._unread or text not in self._set:
                return _ANY
            return self._known.get(text, _TOP)
        if re.fullmatch(r"-?\d+", text):
            number = _of_number(int(text))
            return _Known(number, number)
        align = min(self._variables.get(text, 1), MOST)
        return _Known(align, align)

    def _result(self, name: str, operands: list[str]) -> _Known:
        kind, *rest = name.split(".")
        if kind == "ld":
            return self._loaded(rest, operands)
        if kind not in _RULES or _NO_ALIGNMENT.intersection(rest) or operands[0][0] == "{":
            return _ANY
        if kind in ("mov", "add", "cvta"):
            self._follow_parameter(kind, operands)
        try:
            return _RULES[kind](*map(self._value, operands[1:4]), operands)
        except (TypeError, ValueError):
            return _ANY  # a form with other operands

    def _loaded(self, rest: list[str], operands: list[str]) -> _Known:
        if rest[-1] not in ("u64", "b64"):
            return _ANY
        if "param" not in rest:
            return _Known(1, LOADED_ADDRESS)
        place = Address.read(operands[1])
        start = 0 if place.base == PARAMETER else self._parameter.get(place.base)
        if start is not None and start + place.offset < _BUFFERS_END:
            return _Known(1, self._buffers)
        # Bytes that the parameter carries; or a function's argument, which may be anything.
        return _Known(1, LOADED_ADDRESS) if place.base.startswith("%") else _ANY

    def _follow_parameter(self, kind: str, operands: list[str]) -> None:
        to, source = operands[0], operands[1]
        if source == PARAMETER:
            self._parameter[to] = 0
        elif source in self._parameter and (kind != "add" or re.fullmatch(r"-?\d+", operands[2])):
            more = int(operands[2]) if kind == "add" else 0
            self._parameter[to] = self._parameter[source] + more


def _same(a: _Known, _operands: list[str]) -> _Known:
    return a


def _sum(a: _Known, b: _Known, _operands: list[str]) -> _Known:
    address = max(min(a.address, b.number), min(a.number, b.address))
    return _Known(min(a.number, b.number), address)


def _product(a: _Known, b: _Known, _operands: list[str]) -> _Known:
    number = min(a.number * b.number, MOST)
    return _Known(number, number)


def _product_and_sum(a: _Known, b: _Known, c: _Known, operands: list[str]) -> _Known:
    return _sum(_product(a, b, operands), c, operands)


def _shifted(a: _Known, _count: _Known, operands: list[str]) -> _Known:
    number = a.number
    if operands[2].isdigit():
        number = min(number << int(operands[2]), MOST)
    return _Known(number, number)


def _masked(a: _Known, b: _Known, _operands: list[str]) -> _Known:
    return _Known(max(a.number, b.number), max(a.address, b.number))


def _either(a: _Known, b: _Known, *_rest: object) -> _Known:
    return a.both(b)


_RULES: dict[str, Callable[..., _Known]] = {
    "mov": _same, "cvta": _same, "cvt": _same, "neg": _same,
    "add": _sum, "sub": _sum, "mul": _product, "mad": _product_and_sum, "shl": _shifted,
    "and": _masked, "or": _either, "xor": _either, "selp": _either, "min": _either, "max": _either,
}  # fmt: skip
