"""Engines: the PyTorch devices whose memory and kernels can stand behind mps."""

from __future__ import annotations

from openmps.device.engines.base import Availability, Engine
from openmps.device.engines.cpu import CpuEngine
from openmps.device.engines.cuda import CudaEngine
from openmps.errors import EngineUnavailable, SettingError

_engines: dict[str, Engine] = {}


def register(engine: Engine) -> None:
    """Before activation: from then on OPENMPS_ENGINE may name it."""
    _engines[engine.name] = engine


register(CpuEngine())
register(CudaEngine())


def names() -> list[str]:
    return list(_engines)


def find(name: str) -> Engine:
    if name not in _engines:
        raise SettingError(
            "no such engine",
            found=repr(name),
            next_step=f"set OPENMPS_ENGINE to {_listed(['auto', *_engines])}",
        )
    return _engines[name]


def probe(name: str) -> Availability:
    return find(name).probe()


def choose(name: str) -> Engine:
    """The engine that `name` (a setting) stands for. `auto` is a usable GPU, else the CPU."""
    if name == "auto":
        usable = (each for each in _engines.values() if each.preferred and each.probe().ok)
        return next(usable, _engines["cpu"])
    engine = find(name)
    available = engine.probe()
    if not available.ok:
        raise EngineUnavailable(
            f"the {name} engine cannot be used on this machine",
            found=available.reason,
            next_step=f"{available.fix}, or set OPENMPS_ENGINE=cpu",
        )
    return engine


def _listed(words: list[str]) -> str:
    """a, b or c"""
    return " or ".join([", ".join(words[:-1]), words[-1]])
