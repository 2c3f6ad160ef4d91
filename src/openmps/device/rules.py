"""Tells the core what the chosen Mac has and refuses."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType

from openmps.errors import OpenmpsError
from openmps.mac.chips import Mac
from openmps.mac.dtypes import expand, expand_widened
from openmps.mac.operators import Operators, Status, read_operators

_NOT_STRICT = (
    "OPENMPS_STRICT=0: openmps runs operators and dtypes that a Mac would refuse. "
    "A program that works here may fail on a Mac."
)


def hand_over(core: ModuleType, torch: Path, mac: Mac, engine: str, strict: bool) -> None:
    """Activates the core as `mac`. `torch` is the installed package's folder."""
    operators = installed_operators(torch)
    if not strict:
        warnings.warn(_NOT_STRICT, stacklevel=4)
    for name, refusals in expand(operators.dense, mac.macos).items():
        for refusal in refusals:
            core.refuse(name, *refusal)
    for name, widenings in expand_widened(operators.dense).items():
        for widening in widenings:
            core.widen(name, *widening)
    dense = operators.dense.values()
    core.activate(
        engine,
        mac.recommended_max_bytes,
        mac.max_buffer_bytes,
        *mac.macos,
        strict,
        [operator.name for operator in dense if operator.status is Status.NATIVE],
        sorted(operators.sparse),
        [operator.name for operator in dense if operator.status is Status.FALLS_BACK],
    )


def installed_operators(torch: Path) -> Operators:
    """The operators of the installed torch on a Mac."""
    table = torch.parent / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"
    try:
        return read_operators(table.read_text(encoding="utf-8"))
    except OSError as error:
        raise OpenmpsError(
            "torch's table of operators cannot be read",
            found=str(error),
            next_step="reinstall torch: torchgen belongs to it",
        ) from None
