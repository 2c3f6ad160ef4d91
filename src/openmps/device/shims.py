"""Libraries that look at the machine instead of at torch, and what each is told. One table.

A Mac's device on another machine is enough for nearly all of them. These also ask Python whether
the machine is Apple's. Each is answered in its own module only: the rest of the process sees the
machine as it is. Nothing here acts before openmps is active; OPENMPS_SHIMS=0 turns it off.
"""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple


class Shim(NamedTuple):
    module: str
    act: Callable[[ModuleType], None]
    why: str


class _ApplePlatform(ModuleType):
    """Python's `platform`, but for the processor, which on a Mac is "arm"."""

    def __getattr__(self, name: str) -> Any:
        return getattr(platform, name)

    @staticmethod
    def processor() -> str:
        return "arm"


def _on_an_apple_processor(module: ModuleType) -> None:
    module.MPSAccelerator.is_available.cache_clear()  # asked before, it remembers the answer
    vars(module)["platform"] = _ApplePlatform("platform")


_LIGHTNING = "its MPSAccelerator is available only where platform.processor() is arm or arm64"

SHIMS = (
    Shim("lightning.fabric.accelerators.mps", _on_an_apple_processor, _LIGHTNING),
    # What pytorch_lightning stands on: a copy of the same module.
    Shim("lightning_fabric.accelerators.mps", _on_an_apple_processor, _LIGHTNING),
)


def install(shims: Sequence[Shim] = SHIMS) -> None:
    """Acts on the modules that are there, and on each of the others once it is imported."""
    later = {}
    for shim in shims:
        module = sys.modules.get(shim.module)
        if module is None:
            later[shim.module] = shim
        else:
            _try(shim, module)
    if later:
        sys.meta_path.insert(0, _Finder(later))


class _Finder(MetaPathFinder):
    """Finds what the other finders find, with a shim after it."""

    def __init__(self, shims: dict[str, Shim]) -> None:
        self._shims = shims

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # Taken out, so that the question asked here is not answered here.
        shim = self._shims.pop(fullname, None)
        if shim is None:
            return None
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._shims[fullname] = shim
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, shim)
        return spec


class _Loader(Loader):
    def __init__(self, loader: Any, shim: Shim) -> None:
        self._loader = loader
        self._shim = shim

    def __getattr__(self, name: str) -> Any:  # get_source and the like
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _try(self._shim, module)


def _try(shim: Shim, module: ModuleType) -> None:
    """A release of the library that looks different is left as it is, and its import works."""
    try:
        shim.act(module)
    except AttributeError as error:
        import warnings

        warnings.warn(
            f"openmps: {shim.module} is not as expected ({error}); it was left as it is. "
            f"What was to be answered: {shim.why}.",
            RuntimeWarning,
            stacklevel=2,
        )
