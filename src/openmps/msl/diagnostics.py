"""A finding about a shader, written for the person who wrote the shader."""

from __future__ import annotations

from typing import NoReturn

from openmps.errors import ShaderSyntaxError
from openmps.msl.source import Place

SHOWN_WIDTH = 160
CORRECT = "correct the source and compile again"


def finding(place: Place, message: str, *, kernel: str = "", next_step: str = "") -> str:
    """The message with its place, the source line, a caret, and what to do next."""
    line = place.file.line_text(place.line).replace("\t", " ")
    # A line made by a code generator may be a megabyte long: show the part around the column.
    cut = max(0, place.column - 1 - SHOWN_WIDTH // 2) if len(line) > SHOWN_WIDTH else 0
    shown = line[cut : cut + SHOWN_WIDTH].rstrip()
    number = f"{place.line:5}"
    lines = [
        f"{place}: error: {message}",
        f"{number} | {shown}",
        f"{' ' * len(number)} | {' ' * (place.column - 1 - cut)}^",
    ]
    if kernel:
        lines.append(f"  in kernel: {kernel}")
    lines.append(f"  next: {next_step or CORRECT}")
    return "\n".join(lines)


def refuse(place: Place, message: str, *, kernel: str = "", next_step: str = "") -> NoReturn:
    text = finding(place, message, kernel=kernel, next_step=next_step)
    raise ShaderSyntaxError(text, place=str(place), message=message)
