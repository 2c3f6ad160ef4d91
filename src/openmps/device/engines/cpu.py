"""The CPU behind mps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmps.device.engines.base import Availability, Engine

if TYPE_CHECKING:
    from openmps.targets.base import Target
    from openmps.targets.builtin_kernels import BuiltinKernels


class CpuEngine(Engine):
    name = "cpu"
    widened_as = "cpu"

    def probe(self) -> Availability:
        return Availability(True, "always there")

    def shader_target(self) -> Target:
        from openmps.shader.library import cpu_target

        return cpu_target()

    def kernel_code(self, kernels: BuiltinKernels, name: str) -> int | None:
        return kernels.entry(name)
