"""The releases of compilers whose text emit/ was tested with, and what is said of others.

emit/ reads LLVM IR that clang prints, and PTX that NVRTC prints. Other releases print other text:
what is not understood is refused, and this says in time why that may be. tests/unit/emit/golden
holds the text of these releases.
"""

from __future__ import annotations

import functools
import re
import warnings

CLANG = 22
ZIGLANG = "ziglang>=0.17,<0.18"  # whose clang that is; pyproject.toml asks for the same
NVRTC = "nvidia-cuda-nvrtc>=13.0,<13.6"
PTX = (9, 5)  # what the newest of those writes

# What clang writes below each module.
_CLANG = re.compile(r'^!\d+ = !\{!"(.*\bclang version (\d+)[^"]*)"\}$', re.M)
_PTX = re.compile(r"^\.version (\d+)\.(\d+)$", re.M)


def look_at_clang(ir_text: str) -> None:
    """Warns, once, of a clang of another release, which the IR names."""
    found = _CLANG.search(ir_text)
    if found is None:
        _warn_of_clang("a clang that does not name its release")
    elif int(found[2]) != CLANG or "Apple" in found[1]:
        _warn_of_clang(found[1])


def look_at_ptx(text: str) -> None:
    """Warns, once, of a newer NVRTC. Raises nothing: what reads the PTX refuses what it must."""
    version = ptx_version(text)
    if version is None or version > PTX:
        _warn_of_ptx(f"PTX {version[0]}.{version[1]}" if version else "no version")


def ptx_version(text: str) -> tuple[int, int] | None:
    found = _PTX.search(text)
    return (int(found[1]), int(found[2])) if found else None


@functools.cache
def _warn_of_clang(found: str) -> None:
    warnings.warn(
        f"openmps: Metal shaders are compiled by {found}, and openmps was tested with clang "
        f"{CLANG}: a kernel may be refused or slow. Unset OPENMPS_SHADER_CXX and "
        f"pip install '{ZIGLANG}' to use that one.",
        RuntimeWarning,
        stacklevel=2,
    )


@functools.cache
def _warn_of_ptx(found: str) -> None:
    warnings.warn(
        f"openmps: NVRTC writes {found}, and openmps was tested with PTX up to {PTX[0]}.{PTX[1]}: "
        f"a kernel may be refused. pip install '{NVRTC}' for one that was tested.",
        RuntimeWarning,
        stacklevel=2,
    )
