"""Engines: the PyTorch devices whose memory and kernels can stand behind mps."""

from __future__ import annotations

from typing import NamedTuple

from openmps.errors import EngineUnavailable, SettingError

ENGINES = ("cpu", "cuda")


class Availability(NamedTuple):
    ok: bool
    reason: str
    fix: str = ""


def probe(engine: str) -> Availability:
    """Whether `engine` can be used here, and if not, why. Never raises."""
    import torch

    if engine == "cpu":
        return Availability(True, "always there")
    if torch.version.cuda is None:
        return Availability(
            False, f"torch {torch.__version__} has no CUDA in it", "install a CUDA build of torch"
        )
    try:
        count = torch.cuda.device_count()
    except Exception as error:
        return Availability(False, f"CUDA does not start: {error}", "check the driver: nvidia-smi")
    if count == 0:
        return Availability(False, "no NVIDIA GPU or driver was found", "check it with: nvidia-smi")
    return Availability(True, torch.cuda.get_device_name(0))


def choose(name: str) -> str:
    """The engine that `name` (a setting) stands for. `auto` is a usable GPU, else the CPU."""
    if name == "auto":
        return "cuda" if probe("cuda").ok else "cpu"
    if name not in ENGINES:
        raise SettingError(
            "no such engine", found=repr(name), next_step="set OPENMPS_ENGINE to auto, cpu or cuda"
        )
    available = probe(name)
    if not available.ok:
        raise EngineUnavailable(
            f"the {name} engine cannot be used on this machine",
            found=available.reason,
            next_step=f"{available.fix}, or set OPENMPS_ENGINE=cpu",
        )
    return name
