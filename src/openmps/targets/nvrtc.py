"""CUDA text to machine code for NVIDIA GPUs, by NVRTC. Needs no GPU.

NVRTC and its Python binding come with CUDA builds of torch, and from pip.
"""

from __future__ import annotations

import functools
import importlib
import re
from dataclasses import dataclass
from typing import Any

from openmps.errors import ShaderError

_SMEM = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class Cubin:
    """threadgroup_bytes: shared memory that the kernel declares itself."""

    image: bytes
    threadgroup_bytes: int


class NvrtcRefused(Exception):
    """Carries NVRTC's messages to whoever can tell what they mean to the user."""

    def __init__(self, messages: str) -> None:
        super().__init__(messages)
        self.messages = messages


def version() -> str:
    """Such as "13.2". Raises ShaderError if there is no NVRTC."""
    major, minor = _ask(_binding().nvrtcVersion())
    return f"{major}.{minor}"


def compile_cubin(text: str, architecture: str, flags: tuple[str, ...]) -> Cubin:
    """Raises NvrtcRefused, and ShaderError where NVRTC is missing or too old for the GPU."""
    nvrtc = _binding()
    _check_architecture(architecture)
    # -v: its messages are the one place that says how much shared memory a kernel declares.
    options = [f"--gpu-architecture={architecture}", "--ptxas-options=-v", *flags]
    (program,) = _ask(nvrtc.nvrtcCreateProgram(text.encode(), b"openmps:kernel", 0, [], []))
    try:
        status, *_ = nvrtc.nvrtcCompileProgram(
            program, len(options), [option.encode() for option in options]
        )
        log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        said = log.decode(errors="replace").replace("\0", "\n").strip()
        if int(status) != 0:
            raise NvrtcRefused(said or _name(status))
        image = _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    found = _SMEM.search(said)
    return Cubin(image, int(found[1]) if found else 0)


@functools.cache
def _binding() -> Any:
    try:
        nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")
    except ImportError as error:
        raise ShaderError(
            "Metal shaders on an NVIDIA GPU need the Python package cuda-bindings",
            found=str(error),
            next_step="pip install cuda-bindings (CUDA builds of torch from pip bring it), or set "
            "OPENMPS_ENGINE=cpu",
        ) from None
    try:
        nvrtc.nvrtcVersion()
    except Exception as error:  # the binding raises what its search for libraries raises
        raise ShaderError(
            "Metal shaders on an NVIDIA GPU need NVRTC, NVIDIA's compiler, as a library",
            found=_first_line(error),
            next_step="pip install nvidia-cuda-nvrtc (CUDA builds of torch from pip bring it), or "
            "set OPENMPS_ENGINE=cpu",
        ) from None
    return nvrtc


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


def _read(size_of: Any, read: Any, program: Any) -> bytes:
    (size,) = _ask(size_of(program))
    room = bytearray(size)
    _ask(read(program, room))
    return bytes(room)


def _name(status: Any) -> str:
    return getattr(status, "name", str(status))


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
