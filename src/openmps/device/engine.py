"""Engines: the PyTorch devices whose memory and kernels can stand behind mps."""

from __future__ import annotations

import functools
import itertools
import os
import re
from pathlib import Path
from typing import NamedTuple

from openmps.errors import EngineUnavailable, SettingError

ENGINES = ("cpu", "cuda")


class Availability(NamedTuple):
    ok: bool
    reason: str
    fix: str = ""


def probe(engine: str) -> Availability:
    """Whether `engine` can be used here, and if not, why. Never raises, and starts no GPU."""
    import torch

    if engine == "cpu":
        return Availability(True, "always there")
    built_for = torch.version.cuda
    if built_for is None:
        return Availability(
            False,
            f"no CUDA build: torch {torch.__version__} has no CUDA in it",
            "install a CUDA build of torch",
        )
    driver = driver_version()
    if driver is None:
        return Availability(
            False, "no NVIDIA driver: libcuda.so.1 is not there", "install NVIDIA's driver"
        )
    if driver[0] < int(built_for.split(".")[0]):
        return Availability(
            False,
            f"NVIDIA's driver is too old: it knows CUDA {driver[0]}.{driver[1]}, and torch was "
            f"built with {built_for}",
            "update the driver, or install a torch built for it",
        )
    if gpu_count() == 0:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        cause = "" if hidden is None else f" (CUDA_VISIBLE_DEVICES is {hidden!r})"
        return Availability(False, f"no NVIDIA GPU was found{cause}", "check it with: nvidia-smi")
    return Availability(True, f"an NVIDIA GPU, driver for CUDA {driver[0]}.{driver[1]}")


def driver_version() -> tuple[int, int] | None:
    """The newest CUDA that the driver knows; None without a driver."""
    # Here and not above: the CPU engine does without.
    from openmps.targets import cuda_driver

    return cuda_driver.version()


@functools.cache
def gpu_count() -> int:
    """Asked once: in an active process torch.cuda has no GPUs to show."""
    import torch

    counted = _count_files(Path("/"), os.environ.get("CUDA_VISIBLE_DEVICES"))
    if counted is not None:
        return counted
    try:
        return torch.cuda.device_count()
    except Exception:
        return 0


def _count_files(root: Path, visible: str | None) -> int | None:
    """The GPUs that have a device file, if the kernel's driver is the one that this process loaded;
    None where that is not so simple. torch asks a library of NVIDIA that leaves a thread behind:
    from then on Python warns of every fork."""
    if visible is not None and not re.fullmatch(r"\d+(,\d+)*", visible):
        return None
    try:
        loaded = re.search(r"/libcuda\.so\.([\d.]+)$", (root / "proc/self/maps").read_text(), re.M)
        kernel = (root / "proc/driver/nvidia/version").read_text()
    except OSError:
        return None
    if loaded is None or loaded[1] not in kernel.split():
        return None
    files = [file for file in (root / "dev").glob("nvidia[0-9]*") if file.name[6:].isdigit()]
    there = sum(os.access(file, os.R_OK | os.W_OK) for file in files)
    if there == 0:
        return None
    if visible is None:
        return there
    numbers = [int(number) for number in visible.split(",")]
    if len(set(numbers)) != len(numbers):
        return None
    # As CUDA reads it: a number that is no GPU hides all that follow.
    return len(list(itertools.takewhile(lambda number: number < there, numbers)))


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
