"""Tells the core what the chosen Mac has and refuses."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmps.build.key import build_key
from openmps.build.store import user_store
from openmps.errors import CacheError, OpenmpsError
from openmps.mac.chips import Mac

if TYPE_CHECKING:
    from openmps.device.core import Torch
    from openmps.device.core_interface import Core
    from openmps.device.engines.base import Engine
    from openmps.mac.operators import Operators

_FACTS = Path(__file__).parent.parent / "mac"
_FILE = "rules.json"
_NOT_STRICT = (
    "OPENMPS_STRICT=0: openmps runs operators and dtypes that a Mac would refuse. "
    "A program that works here may fail on a Mac."
)


def hand_over(core: Core, torch: Torch, mac: Mac, engine: Engine, strict: bool) -> None:
    """Activates the core as `mac`."""
    if not strict:
        warnings.warn(_NOT_STRICT, stacklevel=5)
    rules = _find_or_make(torch, mac.macos)
    for refusal in rules["refused"]:
        core.refuse(*refusal)
    for widening in [*rules["widened"], *rules[f"widened_on_{engine.widened_as}"]]:
        core.widen(*widening)
    core.activate(
        engine.name,
        mac.recommended_max_bytes,
        mac.max_buffer_bytes,
        *mac.macos,
        strict,
        [*rules["native"], *engine.also_native],
        rules["sparse"],
        rules["on_cpu"],
    )


def installed_operators(torch: Path) -> Operators:
    """The operators that a Mac has with the torch that is installed in this folder."""
    from openmps.mac.operators import read_operators

    table = torch.parent / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"
    try:
        return read_operators(table.read_text(encoding="utf-8"))
    except OSError as error:
        raise OpenmpsError(
            "torch's table of operators cannot be read",
            found=str(error),
            next_step="reinstall torch: torchgen belongs to it",
        ) from None


def _find_or_make(torch: Torch, macos: tuple[int, int]) -> dict[str, Any]:
    """Kept in the cache: reading torch's table takes as long as all the rest of activation."""
    texts = {file.name: file.read_bytes() for file in _FACTS.glob("*.py")}
    key = build_key(texts, (torch.version, str(torch.folder), repr(macos)))
    store = user_store("rules")
    found = store.find(key, _FILE)
    if found is not None:
        kept: dict[str, Any] = json.loads(found.read_bytes())
        return kept
    rules = _make(torch.folder, macos)
    try:
        with store.lock(key, lambda: None), store.workspace(key) as folder:
            made = folder / _FILE
            made.write_text(json.dumps(rules))
            store.publish(key, _FILE, made, {})
    except (CacheError, OSError):
        pass  # made again next time
    return rules


def _make(torch: Path, macos: tuple[int, int]) -> dict[str, Any]:
    from openmps.mac.dtypes import WIDENED_ON_CPU, WIDENED_ON_CUDA, expand, expand_widened
    from openmps.mac.operators import Status

    operators = installed_operators(torch)
    dense = operators.dense
    refused = expand(dense, macos)
    widened = expand_widened(dense)
    on_cpu = expand_widened(dense, WIDENED_ON_CPU)
    on_cuda = expand_widened(dense, WIDENED_ON_CUDA)
    return {
        "native": [name for name, operator in dense.items() if operator.status is Status.NATIVE],
        "on_cpu": [
            name for name, operator in dense.items() if operator.status is Status.FALLS_BACK
        ],
        "sparse": sorted(operators.sparse),
        "refused": [[name, *refusal] for name, rules in refused.items() for refusal in rules],
        "widened": [[name, *widening] for name, rules in widened.items() for widening in rules],
        "widened_on_cpu": [
            [name, *widening] for name, rules in on_cpu.items() for widening in rules
        ],
        "widened_on_cuda": [
            [name, *widening] for name, rules in on_cuda.items() for widening in rules
        ],
    }
