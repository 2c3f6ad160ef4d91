"""Metal has lambdas from version 3.2 on: older programs that use one are refused, as on a Mac."""

from __future__ import annotations

from openmps.msl.diagnostics import refuse
from openmps.msl.program import Program

FIRST_VERSION = 320

# What may stand before a lambda's `[`. After a name or a closing bracket it is a subscript.
_BEFORE = frozenset({"(", "[", ",", "=", "{", "}", ";", "?", ":", "return", "&&", "||", "!"})
_AFTER = frozenset({"(", "{"})


def check_lambdas(program: Program, version: int) -> None:
    if version >= FIRST_VERSION:
        return
    tokens = program.tokens
    for at, token in enumerate(tokens):
        if token.text != "[" or token.kind != "operator" or at == 0:
            continue
        after = program.partner.get(at, at) + 1
        if tokens[at - 1].text in _BEFORE and after < len(tokens) and tokens[after].text in _AFTER:
            refuse(
                token.place,
                "lambda expressions are not available in Metal "
                f"{version // 100}.{version // 10 % 10}",
                next_step="write a function; or use macOS 15 or newer (OPENMPS_MACOS), whose "
                "PyTorch compiles Metal 3.2",
            )
