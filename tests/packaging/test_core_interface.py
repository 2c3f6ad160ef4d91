"""What Python believes of the C++ core is what its bindings offer."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import torch

from openmps.device.core_interface import Core

CORE = torch._C._mps_host_alias_storage.__self__


def arguments_of(function: Callable[..., Any]) -> int:
    """How many it takes; of pybind11's functions only the docstring tells."""
    signature = re.search(r"^\w+\((.*)\) -> ", function.__doc__ or "")
    if signature is None:
        return len(inspect.signature(function).parameters)
    return len(re.findall(r"\barg\d+: ", signature[1]))


def offered() -> dict[str, Callable[..., Any]]:
    return {name: value for name, value in vars(CORE).items() if not name.startswith("_")}


def test_every_function_of_the_core_is_declared() -> None:
    declared = {name for name in vars(Core) if not name.startswith("_")}
    assert declared == set(offered())


def test_functions_take_as_many_arguments_as_they_are_declared_with() -> None:
    for name, function in offered().items():
        declared = getattr(Core, name).__code__.co_argcount - 1  # without self
        assert arguments_of(function) == declared, name
