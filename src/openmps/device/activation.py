"""Gives this process the mps device, once."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from openmps import settings
from openmps.errors import AlreadyActive, OpenmpsError
from openmps.mac.chips import Mac, parse_mac

if TYPE_CHECKING:
    from openmps.device.core import Torch
    from openmps.device.engines.base import Engine


class Active(NamedTuple):
    engine: str
    mac: Mac


_lock = threading.Lock()
_active: Active | None = None


def active() -> Active | None:
    return _active


def is_active() -> bool:
    """Whether openmps provides this process's mps device."""
    return _active is not None


def activate(engine: str | None = None, mac: str | None = None, macos: str | None = None) -> None:
    """Makes `device="mps"` real in this process and in the processes it starts.

    Arguments left out come from OPENMPS_ENGINE, OPENMPS_MAC and OPENMPS_MACOS. Calling it again
    does nothing; calling it again with other arguments raises AlreadyActive.
    """
    global _active

    import torch  # noqa: F401  # before the lock: with OPENMPS=1, importing torch activates

    from openmps.device import core, engines

    with _lock:
        mac_text = mac or settings.MAC.read()
        macos_text = macos or settings.MACOS.read()
        chosen_mac = parse_mac(mac_text, macos_text)
        engine_text = (engine or settings.ENGINE.read()).lower()
        if _active is not None:
            _check_same(_active, engine_text, chosen_mac, engine, mac or macos)
            return
        if _has_native_mps():
            print("openmps: this torch has a native mps device; stepping aside", file=sys.stderr)
            return
        if sys.platform != "linux":
            raise OpenmpsError(
                "openmps runs on Linux", found=sys.platform, next_step="use a Linux machine or WSL"
            )
        installed = core.find_torch()
        core.check_torch(installed)
        # Before loading: what the core registers stays.
        chosen = engines.choose(engine_text)
        try:
            _connect(installed, chosen, chosen_mac)
        except OpenmpsError:
            raise
        except Exception as error:
            if installed.is_newer_than_tested():
                raise core.unknown_torch(installed, f"{type(error).__name__}: {error}") from error
            raise
        _active = Active(chosen.name, chosen_mac)
        settings.export(chosen.name, mac_text, macos_text)
        if installed.is_newer_than_tested():
            newest = ".".join(map(str, core.NEWEST_TORCH))
            warnings.warn(
                f"openmps was tested with torch up to {newest}; this is {installed.number}. "
                "If something fails, look for a newer openmps",
                RuntimeWarning,
                stacklevel=2,
            )


def _connect(installed: Torch, engine: Engine, mac: Mac) -> None:
    """Loads the core and gives it, and torch, what they must know."""
    from openmps.device import autocast, core, extensions, ledger, patches, rules, shims

    strict = settings.is_strict()
    has_shims = settings.has_shims()
    batch_norms = settings.autocast(engine.batch_norms)
    library = core.load()
    library.provide_kernels(_kernel_finder(engine))
    library.provide_driver(engine.driver_table)
    rules.hand_over(library, installed, mac, engine, strict)
    patches.apply(patches.patches(library, mac, engine))
    extensions.connect(library, installed)
    autocast.take_batch_norms(library, batch_norms)
    if has_shims:
        shims.install(mac)
    ledger.start_if_asked(library, installed.folder, engine.name, str(mac))


def _kernel_finder(engine: Engine) -> Callable[[str], int | None]:
    def find(name: str) -> int | None:
        # Here and not above: all programs wait for activation, and some need no such kernel.
        from openmps.device.builtin_kernels import finder

        return finder(engine)(name)

    return find


def _has_native_mps() -> bool:
    import torch

    return sys.platform == "darwin" and bool(torch.backends.mps.is_built())


def _check_same(
    now: Active, engine_text: str, mac: Mac, engine: str | None, mac_asked: str | None
) -> None:
    if (engine and engine_text not in ("auto", now.engine)) or (mac_asked and mac != now.mac):
        raise AlreadyActive(
            "openmps is already active in this process, with other settings",
            found=f"engine {now.engine}, {now.mac}",
            next_step="activate once, first thing in the program, with the settings you want",
        )
