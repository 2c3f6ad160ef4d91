"""Makes defined in PTX what is so on a Mac's GPU and not on an NVIDIA one: alignments and shifts.

What emit/ir/make_defined.py does to LLVM IR, for the text that NVRTC gives: shifts count the low
bits, and an access whose address cannot be seen to be aligned asks before it relies on it. Most can
be seen to be (alignment.py), and those stay what they are. A load, a store or a shift that is
written in a way that is not known here is refused: left alone, it would be wrong without a word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from openmps.emit.ptx.alignment import (
    REGISTER_BITS,
    Address,
    Alignments,
    FunctionAlignments,
    UnsupportedPTX,
    split_operands,
)

_FUNCTION = re.compile(r"^\{$.*?^\}$", re.M | re.S)
_SHIFT = re.compile(
    r"^\t(?P<shift>(?:shl|shr)\.[busf](?P<bits>16|32|64)) *\t(?P<to>[^,]+), (?P<value>[^,]+), "
    r"(?P<count>%\w+);$"
)
_ACCESS = re.compile(
    r"^\t(?P<how>(?:ld|st)(?:\.volatile)?(?:\.(?P<space>global|shared|local))?(?:\.nc)?)"
    r"(?:\.v(?P<count>[248]))?\.(?P<type>[bufs])(?P<bits>8|16|32|64) *\t(?P<operands>.*);$"
)
# Every load, store and shift, also one that the two above do not know.
_WATCHED = re.compile(r"(?<![\w.%$])(?:ldu?|st|sh[lr])\.|(?<![\w.%$])shf\.[lr]\.clamp\.")
# What the compiler lays out itself; atomic accesses, which need their alignment on a Mac, too;
# shifts by a number, which the compiler has looked at.
_STAYS = re.compile(
    r"^\t(?:@!?%\w+ )?(?:"
    r"(?:ld|st)\.param\.|(?:ld|st)\.relaxed\."
    r"|(?:shl|shr)\.[busf](?:16|32|64) *\t[^,]+, [^,]+, \d+;"
    r")[^;]*;?$"
)


def make_ptx_defined(text: str, buffer_alignment: int = 16) -> str:
    """buffer_alignment: a power of two, 1 to 16, that the address of every bound buffer is a
    multiple of. For those of the kernel that it is launched with, that is known only then.
    Raises UnsupportedPTX."""
    alignments = Alignments(text, buffer_alignment)
    number = iter(range(1 << 30))

    def rewrite(function: re.Match[str]) -> str:
        known = alignments.of_function(function.group())
        lines: list[str] = []
        for line in function.group().split("\n"):
            lines += _shift(line) or _access(line, known, number) or [_known(line)]
        return "\n".join(lines)

    for line in _FUNCTION.sub("", text).split("\n"):
        if _watched(line):
            raise UnsupportedPTX("an instruction outside of a function", line)
    return _FUNCTION.sub(rewrite, _drop_unnamed_variables(text))


# One that the host cannot ask for either. NVRTC writes out every static constant of every class.
_VARIABLE = re.compile(r"^\.global .*? ([\w$]+)(?:\[\d*\])?(?: = .*)?;\n", re.M)
_NAME = re.compile(r"[\w$]+")


def _drop_unnamed_variables(text: str) -> str:
    named = Counter(_NAME.findall(text))
    return _VARIABLE.sub(lambda found: found.group() if named[found[1]] > 1 else "", text)


def _shift(line: str) -> list[str] | None:
    found = _SHIFT.match(line)
    if found is None:
        return None
    low = max(int(found["bits"]), 32) - 1
    return [
        "\t{ .reg .b32 %openmps_count;",
        f"\tand.b32 \t%openmps_count, {found['count']}, {low};",
        f"\t{found['shift']} \t{found['to']}, {found['value']}, %openmps_count; }}",
    ]


def _watched(line: str) -> bool:
    return bool(_WATCHED.search(line.partition("//")[0]))


def _known(line: str) -> str:
    if _watched(line) and not _STAYS.match(line) and not _ACCESS.match(line):
        raise UnsupportedPTX("an access or a shift that is not understood", line)
    return line


class _Access:
    """One load or store: `how` with its element type, its values, and where."""

    def __init__(self, found: re.Match[str]) -> None:
        self.loads = found["how"].startswith("ld")
        operands = split_operands(found["operands"])
        value, place = operands if self.loads else reversed(operands)
        self.values = split_operands(value.strip("{}"))
        self.address = Address.read(place)
        self.how = found["how"]
        self.type = found["type"] + found["bits"]
        self.bytes = int(found["bits"]) // 8
        self.width = self.bytes * len(self.values)

    def instruction(self, how: str, value: str, place: str) -> str:
        return f"{how} \t{value}, [{place}];" if self.loads else f"{how} \t[{place}], {value};"


def _access(line: str, known: FunctionAlignments, number: Iterator[int]) -> list[str] | None:
    found = _ACCESS.match(line)
    if found is None:
        return None
    access = _Access(found)
    alignment = known.of_address(access.address)
    if access.width == 1 or alignment >= access.width:
        return None
    bits = access.address.bits(found["space"])
    aligned = line.replace(access.address.text, "[%openmps_at]").strip()
    lines = [
        "\t{ .reg .pred %openmps_off; .reg .b64 %openmps_whole, %openmps_byte;",
        f"\t.reg .b{bits} %openmps_at, %openmps_low;",
        f"\tmov.b{bits} \t%openmps_at, {access.address.base};",
        f"\tadd.s{bits} \t%openmps_at, %openmps_at, {access.address.offset};",
        f"\tand.b{bits} \t%openmps_low, %openmps_at, {access.width - 1};",
        f"\tsetp.ne.b{bits} \t%openmps_off, %openmps_low, 0;",
    ]
    if alignment >= access.bytes:
        lines += _by_elements(access, aligned)
    else:
        lines += _by_bytes(access, aligned, next(number))
    return [*lines, "\t}"]


def _by_elements(access: _Access, aligned: str) -> Iterator[str]:
    """Without a branch, around which the compiler could not move other loads."""
    yield f"\t@!%openmps_off {aligned}"
    for at, value in enumerate(access.values):
        how = f"{access.how}.{access.type}"
        place = f"%openmps_at+{at * access.bytes}"
        yield f"\t@%openmps_off {access.instruction(how, value, place)}"


def _by_bytes(access: _Access, aligned: str, number: int) -> Iterator[str]:
    yield f"\t@%openmps_off bra \t$openmps_off_{number};"
    yield f"\t{aligned}"
    yield f"\tbra \t$openmps_done_{number};"
    yield f"$openmps_off_{number}:"
    for at, value in enumerate(access.values):
        one = _load_bytes if access.loads else _store_bytes
        yield from one(access, value, at * access.bytes)
    yield f"$openmps_done_{number}:"


def _load_bytes(access: _Access, value: str, first: int) -> Iterator[str]:
    yield f"\t{access.how}.u8 \t%openmps_whole, [%openmps_at+{first}];"
    for byte in range(1, access.bytes):
        yield f"\t{access.how}.u8 \t%openmps_byte, [%openmps_at+{first + byte}];"
        yield f"\tshl.b64 \t%openmps_byte, %openmps_byte, {8 * byte};"
        yield "\tor.b64 \t%openmps_whole, %openmps_whole, %openmps_byte;"
    yield from _from_whole(access, value)


# The width of a register, by its name.
_REGISTER = re.compile(r"%(rs|rd|r|fd|f|b16|b32|b64|b|h|hh)\d")


def _register_bits(value: str, otherwise: int) -> int:
    found = _REGISTER.match(value)
    if value.startswith("%") and not found:
        raise UnsupportedPTX("a register whose width is not known", value)
    return REGISTER_BITS.get(found[1], otherwise) if found else otherwise


def _from_whole(access: _Access, value: str) -> Iterator[str]:
    bits = 8 * access.bytes
    wide = _register_bits(value, bits)
    if wide > bits and access.type[0] == "s":
        yield f"\tcvt.s{wide}.s{bits} \t{value}, %openmps_whole;"
    elif wide == 64:
        yield f"\tmov.b64 \t{value}, %openmps_whole;"
    else:
        yield f"\t{{ .reg .b{wide} %openmps_part; cvt.u{wide}.u64 \t%openmps_part, %openmps_whole;"
        yield f"\tmov.b{wide} \t{value}, %openmps_part; }}"


def _store_bytes(access: _Access, value: str, first: int) -> Iterator[str]:
    wide = _register_bits(value, 8 * access.bytes)
    yield f"\t{{ .reg .b{wide} %openmps_part; mov.b{wide} \t%openmps_part, {value};"
    yield f"\tcvt.u64.u{wide} \t%openmps_whole, %openmps_part; }}"
    for byte in range(access.bytes):
        yield f"\tshr.b64 \t%openmps_byte, %openmps_whole, {8 * byte};"
        yield f"\t{access.how}.u8 \t[%openmps_at+{first + byte}], %openmps_byte;"
