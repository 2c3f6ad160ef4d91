"""The CUDA text of one kernel, for NVRTC: the program, then a __global__ function around it.

It is the text that the CPU gets, over the same headers; those include what differs from
include/msl/cuda/. NVRTC must be told that functions without a word are device functions
(-default-device), C++17, that there are 128-bit integers (-device-int128), and where the headers
are. What it makes of the text, PTX, needs ptx/make_defined.py before it is assembled.
"""

from __future__ import annotations

from openmps.emit.entry import emit_in_scope, emit_program, kernel_address, slot
from openmps.msl.kernels import Kernel, Parameter
from openmps.msl.library import Library

MOST_THREADS = 1024


def emit_cuda_kernel(library: Library, kernel: Kernel, *, contract: bool = True) -> str:
    """contract: whether `a * b + c` may become one instruction that rounds once.

    The compiler must be told the same: -fmad=true or -fmad=false.
    """
    path = "".join(f"{name}::" for name in kernel.scope)
    how = "run_group" if kernel.coordinates or not kernel.looks_at_grid_only else "run_grid"
    arguments = [how, f"({kernel_address(kernel)})", *map(_cuda_slot, kernel.parameters)]
    call = f"OPENMPS_CUDA_CALL({', '.join(arguments)})"
    limit = (
        f"inline constexpr unsigned openmps_asked = unsigned({kernel.max_threads or MOST_THREADS});"
        "\ninline constexpr unsigned openmps_limit = "
        f"openmps_asked < {MOST_THREADS}u ? openmps_asked : {MOST_THREADS}u;"
    )
    return (
        ("#define OPENMPS_CONTRACT 1\n" if contract else "")
        + emit_program(library)
        + emit_in_scope(library, kernel, call, limit)
        + f"OPENMPS_CUDA_ENTRY(msl::{path}, msl::{path}openmps_limit)\n"
    )


def may_be_inline(parameter: Parameter) -> bool:
    """Whether a buffer's bytes may travel in CudaLaunch::bytes (msl/launch/cuda_launch.h)."""
    return parameter.kind == "buffer" and "constant" in parameter.type.split()


def _cuda_slot(parameter: Parameter) -> str:
    if may_be_inline(parameter):
        return f"msl::openmps_slot::constant + {parameter.index}"
    return slot(parameter)
