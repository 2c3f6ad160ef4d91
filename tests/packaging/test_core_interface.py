"""What Python believes of the C++ core is what its bindings offer."""

from __future__ import annotations

import re
from pathlib import Path

import openmps
from openmps.device.core_interface import Core

SOURCES = Path(openmps.__file__).parent / "csrc"
_METHOD = re.compile(r'\{"(\w+)",\s*\w+,\s*METH_(NOARGS|O|VARARGS)\b')


def offered() -> dict[str, str]:
    """How many arguments each function takes, by its name."""
    return dict(
        method
        for source in SOURCES.rglob("bindings*.cpp")
        for method in _METHOD.findall(source.read_text())
    )


def test_every_function_of_the_core_is_declared() -> None:
    declared = {name for name in vars(Core) if not name.startswith("_")}
    assert declared == set(offered())


def test_functions_take_as_many_arguments_as_they_are_declared_with() -> None:
    for name, kind in offered().items():
        arguments = getattr(Core, name).__code__.co_argcount - 1  # without self
        assert (kind == "NOARGS") == (arguments == 0), name
        assert (kind == "O") == (arguments == 1), name
