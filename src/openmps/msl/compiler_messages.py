"""What a C++ compiler says about the rewritten text, told in the shader's own lines."""

from __future__ import annotations

import re

from openmps.errors import ShaderSyntaxError
from openmps.msl.diagnostics import CORRECT, finding
from openmps.msl.kernels import Kernel
from openmps.msl.library import Library
from openmps.msl.source import Place

# The name under which the compiler sees the rewritten text (see emit/entry.py).
PROGRAM = "openmps:program"
# Line n of this is the n-th kernel's instance.
INSTANCES = "openmps:instances"
ENTRY = "openmps:entry"
_ENTRY_HEADERS = ("msl/launch/entry.h", "msl/launch/positions.h", "msl/cuda/entry.h")

MOST_SHOWN = 10

_MESSAGE = re.compile(
    r"^(?P<file>[^\n]*?):(?P<line>\d+):(?P<column>\d+): "
    r"(?P<kind>fatal error|error|note|warning): (?P<text>.*)$"
)

# Words in a message, and what the reader can do about it.
_ADVICE = (
    ("cannot be entered", "check the types of its parameters and the values of its attributes"),
    ("undeclared identifier", "declare it, or write `using namespace metal;` or metal:: before it"),
    ("is undefined", "declare it, or write `using namespace metal;` or metal:: before it"),
    ("no member named", "check the spelling; docs/metal.md lists what is supported"),
    ("unknown type name", "check the spelling; textures and Metal 4 tensors are not supported"),
    ("no matching", "compare the arguments' types with the function's parameters"),
    ("expected ';'", "end the statement with ';'"),
    ("redefinition of", "rename one of the two"),
    ("tensor", "Metal 4 tensors are not supported: use simdgroup_matrix (8x8)"),
)
_TENSOR_NAMES = re.compile(r"\b(tensor_\w+|cooperative_tensor|matmul2d\w*|dextents|mpp)\b")


# The functions that guarded divisions become (include/msl/types/guard.h).
_DIVISION = re.compile(r"no matching function for call to '(?:\w+::)*(quotient|rest)'")
_DIVISION_SIGN = {"quotient": "/", "rest": "%"}

# What g++ says, in the words of clang, which are those of a Mac.
_SAID_BY_GCC = (
    (r"('[^']+') was not declared in this scope", r"use of undeclared identifier \1"),
    (r"assignment of read-only location '.*'", "read-only variable is not assignable"),
    (
        r"request for member '\w+' in '.*', which is of non-class type ('[^']*')",
        r"member reference base type \1 is not a structure or union",
    ),
    (r"expected (?:',' or )?';' before ('[^']*')", r"expected ';' before \1"),
    (r" \{aka '[^']*'\}", ""),
)


def explain(
    library: Library, messages: str, kernel: Kernel | None = None
) -> ShaderSyntaxError | None:
    """The first errors that lie in the shader, or None if they all lie elsewhere.

    kernel: the one being built. An error where it is entered is about its head.
    """
    found: list[tuple[Place, str]] = []
    pending = ""
    for line in messages.splitlines():
        match = _MESSAGE.match(line)
        if match is None:
            continue
        kind, text = match["kind"], match["text"]
        place = None
        if match["file"] == PROGRAM:
            place = library.text.place_at(int(match["line"]), int(match["column"]))
        elif match["file"] == INSTANCES:
            kernels = list(library.kernels.values())
            place = kernels[int(match["line"]) - 1].instance_place
        if kind.endswith("error"):
            if place is not None:
                found.append((place, text))
                pending = ""
            else:
                # In a header of ours: a note that follows says which line asked for it.
                pending = pending or text
        elif kind == "note" and pending and place is not None:
            found.append((place, pending))
            pending = ""
    if not found and kernel is not None:
        at_entry = next(
            (t for t in map(_MESSAGE.match, messages.splitlines()) if _at_entry(t)), None
        )
        if at_entry is not None:
            found.append((kernel.place, f"the kernel cannot be entered: {at_entry['text']}"))
    if not found:
        return None
    # What follows from an unknown tensor type matters less than the type.
    found.sort(key=lambda one: _TENSOR_NAMES.search(one[1]) is None)
    shown: list[str] = []
    for place, text in dict.fromkeys(found):
        said = readable(text)
        shown.append(finding(place, said, kernel=library.kernel_at(place), next_step=advice(said)))
    if len(shown) > MOST_SHOWN:
        shown[MOST_SHOWN:] = [f"... and {len(shown) - MOST_SHOWN} more errors"]
    place, text = found[0]
    return ShaderSyntaxError("\n".join(shown), place=str(place), message=readable(text))


def _at_entry(message: re.Match[str] | None) -> bool:
    if message is None or not message["kind"].endswith("error"):
        return False
    return message["file"] == ENTRY or message["file"].endswith(_ENTRY_HEADERS)


def readable(text: str) -> str:
    """A message without the names that only the rewritten text has."""
    for gcc, clang in _SAID_BY_GCC:
        text = re.sub(gcc, clang, text)
    text = text.replace("msl::", "").replace("_Float16", "half")
    text = _DIVISION.sub(lambda m: f"invalid operands of '{_DIVISION_SIGN[m[1]]}'", text)
    text = re.sub(r"openmps_detail::\w+(<[^<>]*>)?", "number", text)
    text = re.sub(r"'decltype\([^']*\)' \(aka ('[^']*')\)", r"\1", text)
    text = re.sub(r"(openmps_\w+::)?vec<(?:unsigned (\w+)|(\w+)), ([234])>", _vector_name, text)
    text = re.sub(r"openmps_\w+::", "", text)
    text = re.sub(r"'openmps_(get|ref)<[^']*>'", "swizzle", text)
    named = _TENSOR_NAMES.search(text)
    if named:
        return f"'{named.group()}': Metal 4 tensors are not supported"
    return text


def _vector_name(match: re.Match[str]) -> str:
    unsigned, plain, count = match[2], match[3], match[4]
    return f"u{unsigned}{count}" if unsigned else f"{plain}{count}"


def advice(text: str) -> str:
    for words, step in _ADVICE:
        if words in text:
            return step
    return CORRECT
