"""Libraries that look at the machine instead of at torch, and what each is told. One table.

A Mac's device on another machine is enough for nearly all of them. These also ask Python whether
the machine is Apple's. Each is answered in its own module only: the rest of the process sees the
machine as it is. Nothing here acts before openmps is active; OPENMPS_SHIMS=0 turns it off.
"""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from openmps.mac.chips import Mac


class Shim(NamedTuple):
    module: str
    # The function of Python's `platform` that is answered there as on a Mac.
    asks: str
    why: str
    # A class of the module and its method that remembers what was answered before.
    remembers: tuple[str, str] | None = None


_LIGHTNING = "its MPSAccelerator is available only where platform.processor() is arm or arm64"
_REMEMBERS = ("MPSAccelerator", "is_available")

SHIMS = (
    Shim("lightning.fabric.accelerators.mps", "processor", _LIGHTNING, _REMEMBERS),
    # What pytorch_lightning stands on: a copy of the same module.
    Shim("lightning_fabric.accelerators.mps", "processor", _LIGHTNING, _REMEMBERS),
    Shim(
        "thinc.util",
        "system",
        "spaCy's prefer_gpu() finds mps, and then raises unless platform.system() is Darwin",
    ),
    Shim(
        "comfy.model_management",
        "mac_ver",
        "ComfyUI compares platform.mac_ver() with a release, which fails where it is empty",
    ),
)


def install(mac: Mac, shims: Sequence[Shim] = SHIMS) -> None:
    """Answers these modules, whether they are imported already, later, or just now.

    Just now is usual: with OPENMPS=1 it is a library's own `import torch` that activates openmps.
    So it is the one who asks that is looked at, and not the import.
    """
    release = ".".join(map(str, mac.macos))
    answers = {
        "processor": "arm",
        "system": "Darwin",
        "mac_ver": (release, ("", "", ""), "arm64"),
    }
    for asked, answer in answers.items():
        askers = frozenset(shim.module for shim in shims if shim.asks == asked)
        setattr(platform, asked, _answered(getattr(platform, asked), askers, answer))
    for shim in shims:
        _forget(shim)


def _answered(function: Callable[..., Any], askers: frozenset[str], answer: object) -> Any:
    @functools.wraps(function)
    def ask(*arguments: Any, **named: Any) -> Any:
        if sys._getframe(1).f_globals.get("__name__") in askers:
            return answer
        return function(*arguments, **named)

    return ask


def _forget(shim: Shim) -> None:
    """What a module was answered before openmps was active does not count."""
    if shim.remembers is None:
        return
    owner, method = shim.remembers
    remembering = getattr(getattr(sys.modules.get(shim.module), owner, None), method, None)
    if remembering is not None and hasattr(remembering, "cache_clear"):
        remembering.cache_clear()
