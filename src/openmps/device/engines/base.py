"""What an engine is to Python: whether it can be used, and how Metal kernels are compiled for it.

Its other half is a folder of the core, csrc/engine/NAME. docs/engines.md tells how to add one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from openmps.device.core_interface import Core
    from openmps.device.patches import Patch
    from openmps.targets.base import Target
    from openmps.targets.builtin_kernels import BuiltinKernels


class Availability(NamedTuple):
    ok: bool
    reason: str
    fix: str = ""


class Engine(ABC):
    name: str  # as OPENMPS_ENGINE and the core know it
    # Whether `auto` takes it where it can be used.
    preferred = False
    # How batch norms are taken under autocast, unless OPENMPS_AUTOCAST says.
    batch_norms = "mac"
    # Whose kernels its device has, of those that mac/widenings.py tells apart: cpu or cuda.
    widened_as = "cuda"
    # Whether its device has kernels for lists of tensors, so that optimizers had better use them.
    groups_optimizers = False
    # Operators that a Mac composes, and that must not reach the device's own kernels.
    also_native: tuple[str, ...] = ()

    @abstractmethod
    def probe(self) -> Availability:
        """Whether it can be used here, and if not, why. Never raises, and starts no device."""

    @abstractmethod
    def shader_target(self) -> Target:
        """Where the shaders of a process with this engine run."""

    @abstractmethod
    def kernel_code(self, kernels: BuiltinKernels, name: str) -> int | None:
        """What the core's engine launches: an address or a handle; None if there is no such
        kernel."""

    def driver_table(self) -> int:
        """The address of the driver's functions, for a core that asks for them at the first use of
        the device; 0 if it never does."""
        return 0

    def patches(self, core: Core) -> list[Patch]:
        """What is put on torch for this engine alone."""
        return []
