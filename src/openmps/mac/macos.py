"""macOS releases that PyTorch's mps device runs on."""

from __future__ import annotations

import re

from openmps.errors import SettingError

Release = tuple[int, int]

MAJORS = (14, 15, 26, 27)  # Apple went from 15 to 26


def parse_macos(text: str) -> Release:
    """Reads "14.4", "15.1.1", "macOS 26": major and minor."""
    match = re.fullmatch(r"(?:mac\s*os)?\s*(\d{2})(?:\.(\d{1,2}))?(?:\.\d{1,2})?", _plain(text))
    if match is None or int(match[1]) not in MAJORS:
        raise SettingError(
            "no such macOS release, or one too old for PyTorch's mps device",
            found=repr(text),
            next_step="use 14.0 or newer: macOS 14, 15, 26 or 27, such as 14.4, 15.1 or 26.0",
        )
    return int(match[1]), int(match[2] or 0)


def _plain(text: str) -> str:
    # \d and int() would take other scripts' digits, too.
    return text.strip().lower() if text.isascii() else ""
