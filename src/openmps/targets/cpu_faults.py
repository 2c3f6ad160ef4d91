"""What the processor tells of a kernel that faulted, in words: buffer, index, kernel and thread."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from openmps.msl.kernels import Kernel


class FaultReport(Protocol):
    address: int
    position: Sequence[int]
    simdgroup: int
    thread: int
    thread_known: int
    thread_in_grid: Sequence[int]
    threadgroup_memory: int
    threadgroup_bytes: int


# Further than any 32-bit index reaches, of any type: which buffer was meant nobody knows.
_FAR = 1 << 36


@dataclass(frozen=True)
class Pointer:
    """A kernel's parameter that points to a buffer."""

    index: int
    name: str
    type: str  # of an element
    element_bytes: int  # 0: not known


@dataclass(frozen=True)
class Memory:
    """What a kernel may touch, as an error names it."""

    address: int
    size_bytes: int
    name: str
    pointer: Pointer | None = None

    def distance(self, address: int) -> int:
        return max(self.address - address, address - (self.address + self.size_bytes - 1), 0)


def place(report: FaultReport, *, in_box: bool, style: str) -> str:
    """Which thread. in_box: the kernel has no threadgroups, only a grid."""
    x, y, z = report.position
    in_grid = "thread ({}, {}, {}) of the grid".format(*report.thread_in_grid)
    if in_box:
        return (
            in_grid if report.thread_known else f"a thread at or after ({x}, {y}, {z}) of the grid"
        )
    text = f"threadgroup ({x}, {y}, {z})"
    if style == "simdgroups":
        text += f", simdgroup {report.simdgroup}"
    elif style == "threads":
        text += f", thread {report.thread}"
    return f"{text}, {in_grid}" if report.thread_known else text


def nearest(address: int, memories: Iterable[Memory]) -> str:
    """Where an address lies, seen from the nearest memory."""
    if address < 1 << 16:
        return "close to null: a buffer that is not bound?"
    known = [memory for memory in memories if memory.address and memory.size_bytes]
    if not known:
        return "and no buffer is bound"
    found = min(known, key=lambda memory: memory.distance(address))
    begin, size = found.address, found.size_bytes
    if found.distance(address) > _FAR:
        return f"far from all that is bound; {found.name} is nearest"
    if begin <= address < begin + size:
        return f"inside {found.name}, in memory that may not be written or was freed"
    text = (
        f"{begin - address} bytes before {found.name} ({size} bytes)"
        if address < begin
        else f"{address - begin - size} bytes after the end of {found.name} ({size} bytes)"
    )
    pointer = found.pointer
    if pointer is None or not pointer.element_bytes:
        return text
    element = (address - begin) // pointer.element_bytes
    count = size // pointer.element_bytes
    return f"{text}: {pointer.name}[{element}] of {count} elements of {pointer.type}"


def pointers(kernel: Kernel) -> Iterator[Pointer]:
    # Of an instance of a template, the parameters' types are what it was instantiated with.
    given = _split(kernel.signature) if kernel.signature else []
    for number, parameter in enumerate(kernel.parameters):
        if parameter.kind != "buffer" or not parameter.is_pointer:
            continue
        type_ = given[number] if number < len(given) else parameter.type
        element = " ".join(
            word for word in re.findall(r"[\w:<>,]+", type_) if word not in _QUALIFIERS
        )
        yield Pointer(parameter.index, parameter.name, element, _bytes_of(element))


_QUALIFIERS = {"device", "constant", "const", "volatile", "restrict", "threadgroup", "coherent"}
_SCALARS = {
    "bool": 1, "char": 1, "uchar": 1, "int8_t": 1, "uint8_t": 1,
    "short": 2, "ushort": 2, "int16_t": 2, "uint16_t": 2, "half": 2, "bfloat": 2,
    "int": 4, "uint": 4, "int32_t": 4, "uint32_t": 4, "float": 4,
    "atomic_int": 4, "atomic_uint": 4, "atomic_float": 4,
    "long": 8, "ulong": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8, "atomic_ulong": 8,
}  # fmt: skip


def _bytes_of(element: str) -> int:
    """0 for a type of the program's own."""
    name = element.removeprefix("metal::")
    if name in _SCALARS:
        return _SCALARS[name]
    vector = re.fullmatch(r"(packed_)?([a-z]+)([234])", name)
    if vector is None or vector[2] not in _SCALARS:
        return 0
    count = 4 if vector[3] == "3" and not vector[1] else int(vector[3])
    return count * _SCALARS[vector[2]]


def _split(signature: str) -> list[str]:
    """At the commas that are in no brackets."""
    parts, depth = [""], 0
    for character in signature:
        depth += (character in "<([") - (character in ">)]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
