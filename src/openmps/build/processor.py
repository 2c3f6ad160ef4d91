"""Which processor kernels are compiled for: this one, or a level that others have too."""

from __future__ import annotations

import functools
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from openmps import settings
from openmps.errors import SettingError

NATIVE = "native"
_V2 = frozenset({"cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"})
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
# By architecture: the levels that can be asked for, and what Linux must say that a processor has.
LEVELS: Mapping[str, Mapping[str, frozenset[str]]] = {
    "x86_64": {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4},
    "aarch64": {"armv8-a": frozenset({"fp", "asimd"})},
}


@dataclass(frozen=True)
class Processor:
    """architecture: as `uname -m` says it. name: `native`, or a level of that architecture."""

    architecture: str
    name: str

    @property
    def flags(self) -> tuple[str, ...]:
        """For clang and for g++."""
        if self.architecture != "aarch64":
            return (f"-march={self.name}",)
        chosen = "-mcpu=native" if self.name == NATIVE else f"-march={self.name}"
        # Atomics as instructions: the functions that choose between two kinds at run time are in
        # the compiler's own library, and kernels are linked against nothing.
        return (chosen, "-mno-outline-atomics")

    @property
    def identity(self) -> str:
        """Changes when code for it may change: machines that differ may share a cache."""
        return _this_machine() if self.name == NATIVE else f"{self.architecture} {self.name}"


def chosen_processor() -> Processor:
    """What OPENMPS_SHADER_CPU asks for. Raises SettingError if it cannot run here."""
    return _chosen(settings.SHADER_CPU.read().lower())


@functools.lru_cache
def _chosen(name: str) -> Processor:
    architecture = platform.machine()
    levels = LEVELS.get(architecture, {})
    if name != NATIVE and name not in levels:
        raise SettingError(
            f"{settings.SHADER_CPU.variable} names no processor level of {architecture}",
            found=repr(name),
            next_step=f"set it to one of {', '.join((NATIVE, *levels))}, or leave it out",
        )
    if name != NATIVE and not has_level(name):
        missing = sorted(levels[name] - _features())
        raise SettingError(
            f"{settings.SHADER_CPU.variable} asks for more than this processor has",
            found=f"{name} needs {', '.join(missing)}",
            next_step=f"set it to one of {', '.join((NATIVE, *levels_here()))}, or leave it out",
        )
    return Processor(architecture, name)


def levels_here() -> list[str]:
    """The levels that this machine can run, lowest first."""
    return [name for name in LEVELS.get(platform.machine(), {}) if has_level(name)]


def has_level(name: str) -> bool:
    features = _features()
    # Where Linux does not tell, the user is believed.
    return not features or LEVELS[platform.machine()][name] <= features


@functools.lru_cache
def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


@functools.lru_cache
def _features() -> frozenset[str]:
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", _cpuinfo(), re.M)
    return frozenset(found[1].split()) if found else frozenset()


@functools.lru_cache
def _this_machine() -> str:
    # arm64 has no name but numbers, and the cores of one machine may differ.
    lines = re.findall(r"^(?:model name|CPU (?:implementer|variant|part))\s*:.*$", _cpuinfo(), re.M)
    named = " ".join(dict.fromkeys(lines))
    return f"{platform.machine()} {named} {' '.join(sorted(_features()))}"
