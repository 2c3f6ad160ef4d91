"""What a cubin says about its kernel: an ELF file, read without the driver."""

from __future__ import annotations

import struct


def constant(image: bytes, name: str) -> int | None:
    """The value of an unsigned constant that the text defines; None if there is none."""
    sections = _sections(image)
    for kind, offset, size, link, entry in sections:
        if kind != 2:  # SHT_SYMTAB
            continue
        strings = sections[link][1]
        for at in range(offset, offset + size, entry):
            start, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", image, at)
            begin = strings + start
            if image[begin : image.index(b"\0", begin)] == name.encode() and section:
                return int(struct.unpack_from("<I", image, sections[section][1] + value)[0])
    return None


def _sections(image: bytes) -> list[tuple[int, int, int, int, int]]:
    """Kind, offset, size, link and size of an entry."""
    begin = struct.unpack_from("<Q", image, 40)[0]
    size, count = struct.unpack_from("<HH", image, 58)
    found = []
    for number in range(count):
        fields = struct.unpack_from("<IIQQQQIIQQ", image, begin + number * size)
        found.append((fields[1], fields[4], fields[5], fields[6], fields[9]))
    return found
