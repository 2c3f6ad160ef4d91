"""PTX to machine code for NVIDIA GPUs, by nvJitLink. Needs no GPU, and no driver that is new."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

from openmps.targets.nvrtc import NvidiaRefused, find_binding, missing_library

_SMEM = re.compile(r"(\d+) bytes smem")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes spill (?:stores|loads)")


@dataclass(frozen=True)
class Cubin:
    """threadgroup_bytes: shared memory that the kernel declares itself. registers: of a thread.
    spills: whether some of what they should hold went to memory."""

    image: bytes
    threadgroup_bytes: int
    registers: int = 0
    spills: bool = False


def version() -> str:
    """Such as "13.2". Raises ShaderError if there is no nvJitLink."""
    major, minor = _binding().version()
    return f"{major}.{minor}"


def assemble(ptx: str, architecture: str) -> Cubin:
    """Raises NvidiaRefused, and ShaderError where nvJitLink is missing."""
    linker = _binding()
    # -v: its messages are the one place that says what a kernel uses. Where there is a GPU,
    # nvJitLink remembers what it has made, and says nothing when it makes that again.
    options = [f"-arch={architecture}", "-Xptxas=-v", "-no-cache"]
    handle = linker.create(len(options), options)
    try:
        data = ptx.encode() + b"\0"
        try:
            linker.add_data(handle, linker.InputType.PTX, data, len(data), "openmps:kernel")
            linker.complete(handle)
        except linker.nvJitLinkError as error:
            said = _read(linker.get_error_log_size, linker.get_error_log, handle)
            raise NvidiaRefused(_text(said) or str(error)) from None
        image = _read(linker.get_linked_cubin_size, linker.get_linked_cubin, handle)
        said = _read(linker.get_info_log_size, linker.get_info_log, handle)
    finally:
        linker.destroy(handle)
    return _read_facts(image, _text(said))


def _read_facts(image: bytes, said: str) -> Cubin:
    shared, registers = _SMEM.search(said), _REGISTERS.search(said)
    return Cubin(
        image,
        int(shared[1]) if shared else 0,
        int(registers[1]) if registers else 0,
        any(int(spilled) for spilled in _SPILLED.findall(said)),
    )


@functools.cache
def _binding() -> Any:
    linker = find_binding("nvjitlink")
    try:
        linker.version()
    except Exception as error:  # the binding raises what its search for libraries raises
        raise missing_library("nvJitLink, NVIDIA's linker", "nvidia-nvjitlink", error) from None
    return linker


def _read(size_of: Any, read: Any, handle: int) -> bytes:
    room = bytearray(size_of(handle))
    if room:
        read(handle, room)
    return bytes(room)


def _text(said: bytes) -> str:
    return said.decode(errors="replace").replace("\0", "\n").strip()
