"""CUDA text to PTX, by NVRTC. Needs no GPU.

NVRTC and its Python binding come with CUDA builds of torch, and from pip.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import re
from typing import Any

from openmps.errors import ShaderError

_PACKAGES = (
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-nvrtc-cu12",
    "nvidia-nvjitlink",
    "nvidia-nvjitlink-cu12",
)


class NvidiaRefused(Exception):
    """Carries a compiler's messages to whoever can tell what they mean to the user."""

    def __init__(self, messages: str) -> None:
        super().__init__(messages)
        self.messages = messages


def version() -> str:
    """Such as "13.2". Raises ShaderError if there is no NVRTC."""
    major, minor = _ask(_binding().nvrtcVersion())
    return f"{major}.{minor}"


@functools.cache
def identity() -> str:
    """Changes when what NVIDIA's compilers make may change. Packages know it without loading them,
    which takes longer than all else that a warm start does."""
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found) or f"NVRTC {version()}"


def compile_ptx(text: str, architecture: str, flags: tuple[str, ...]) -> str:
    """Raises NvidiaRefused, and ShaderError where NVRTC is missing or too old for the GPU."""
    nvrtc = _binding()
    _check_architecture(architecture)
    virtual = architecture.replace("sm_", "compute_")
    options = [option.encode() for option in (f"--gpu-architecture={virtual}", *flags)]
    (program,) = _ask(nvrtc.nvrtcCreateProgram(text.encode(), b"openmps:kernel", 0, [], []))
    try:
        status, *_ = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(status) != 0:
            said = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            raise NvidiaRefused(said or _name(status))
        return _read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


@functools.cache
def _binding() -> Any:
    nvrtc = find_binding("nvrtc")
    try:
        nvrtc.nvrtcVersion()
    except Exception as error:  # the binding raises what its search for libraries raises
        raise missing_library("NVRTC, NVIDIA's compiler", "nvidia-cuda-nvrtc", error) from None
    return nvrtc


def find_binding(name: str) -> Any:
    try:
        return importlib.import_module(f"cuda.bindings.{name}")
    except ImportError as error:
        raise ShaderError(
            "Metal shaders on an NVIDIA GPU need the Python package cuda-bindings",
            found=str(error),
            next_step="pip install cuda-bindings (CUDA builds of torch from pip bring it), or set "
            "OPENMPS_ENGINE=cpu",
        ) from None


def missing_library(what: str, package: str, error: Exception) -> ShaderError:
    return ShaderError(
        f"Metal shaders on an NVIDIA GPU need {what}, as a library",
        found=str(error).strip().partition("\n")[0] or type(error).__name__,
        next_step=f"pip install {package} (CUDA builds of torch from pip bring it), or set "
        "OPENMPS_ENGINE=cpu",
    )


@functools.cache
def _check_architecture(architecture: str) -> None:
    (known,) = _ask(_binding().nvrtcGetSupportedArchs())
    if int(re.sub(r"\D", "", architecture)) not in known:
        raise ShaderError(
            f"this NVRTC cannot compile for the GPU, which is {architecture}",
            found=f"NVRTC {version()}, for sm_" + ", sm_".join(map(str, known)),
            next_step="install a torch whose CUDA fits the GPU, or set OPENMPS_ENGINE=cpu",
        )


def _ask(answer: Any) -> tuple[Any, ...]:
    status, *values = answer
    if int(status) != 0:
        raise ShaderError(
            "NVRTC, NVIDIA's compiler, does not work here",
            found=_name(status),
            next_step="check that cuda-bindings and nvidia-cuda-nvrtc are of one CUDA release",
        )
    return tuple(values)


def _read(size_of: Any, read: Any, program: Any) -> str:
    (size,) = _ask(size_of(program))
    room = bytearray(size)
    _ask(read(program, room))
    return room.decode(errors="replace").replace("\0", "\n").strip()


def _name(status: Any) -> str:
    return getattr(status, "name", str(status))
