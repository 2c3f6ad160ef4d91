"""An NVIDIA GPU behind mps."""

from __future__ import annotations

import functools
import itertools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmps.device.engines.base import Availability, Engine

if TYPE_CHECKING:
    from openmps.device.core_interface import Core
    from openmps.device.patches import Patch
    from openmps.targets.base import Target
    from openmps.targets.builtin_kernels import BuiltinKernels


class CudaEngine(Engine):
    name = "cuda"
    preferred = True
    batch_norms = "narrow"
    groups_optimizers = True
    # With gradients, too, torch takes a fused rms_norm wherever the backing device has one; a Mac
    # then takes the plain formula.
    also_native = ("aten::_fused_rms_norm_backward",)

    def probe(self) -> Availability:
        import torch

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
            return Availability(
                False, f"no NVIDIA GPU was found{cause}", "check it with: nvidia-smi"
            )
        return Availability(True, f"an NVIDIA GPU, driver for CUDA {driver[0]}.{driver[1]}")

    def shader_target(self) -> Target:
        from openmps.shader.library import cuda_target

        return cuda_target()

    def kernel_code(self, kernels: BuiltinKernels, name: str) -> int | None:
        return kernels.function(name)

    def driver_table(self) -> int:
        from openmps.targets.cuda_driver import table_address

        return table_address()

    def patches(self, core: Core) -> list[Patch]:
        import torch

        from openmps.device.patches import Patch

        hidden = "a Mac has no CUDA; the GPU belongs to mps in this process"
        return [
            *_determinism(core, torch._C),
            Patch(torch.cuda, "is_available", lambda: False, hidden),
            Patch(torch.cuda, "device_count", lambda: 0, hidden),
        ]


def _determinism(core: Core, bindings: Any) -> list[Patch]:
    """Of torch.use_deterministic_algorithms: a Mac and CUDA alert at different operators."""
    from openmps.device.patches import Patch

    why = "the process has one switch, which CUDA's kernels ask; a Mac's alerts need another"
    only_warns = bindings._get_deterministic_algorithms_warn_only

    def set_algorithms(mode: bool, *, warn_only: bool = False) -> None:
        if not (isinstance(mode, bool) and isinstance(warn_only, bool)):
            set_both(mode, warn_only=warn_only)  # which says what is wrong with them
        core.set_deterministic_algorithms(mode, warn_only)

    set_both = bindings._set_deterministic_algorithms
    core.set_deterministic_algorithms(bindings._get_deterministic_algorithms(), only_warns())
    return [
        Patch(bindings, "_set_deterministic_algorithms", set_algorithms, why),
        Patch(
            bindings,
            "_get_deterministic_algorithms_warn_only",
            core.deterministic_algorithms_only_warn,
            why,
        ),
    ]


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
