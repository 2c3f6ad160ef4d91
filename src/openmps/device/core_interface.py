"""The functions of the C++ core, `openmps_core`, as Python sees them. The core is the module that
`core.load` returns; `csrc/python/bindings*.cpp` implements it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

if TYPE_CHECKING:
    from torch import Tensor, UntypedStorage

# (kind, name, message, detail, id, run, thread, start_ns, duration_ns, bytes)
Record = tuple[str, str, str, str, int, int, int, int, int, int]
# (kind, name, detail, line, count, bytes, ns); a line counts from 1, and 0 is no line
Event = tuple[str, str, str, int, int, int, int]


class Ledger(TypedDict):
    """What the process did on the device. Times are in nanoseconds, sizes in bytes."""

    ns: int
    lines: list[tuple[str, str, int]]  # file, function, number
    events: list[Event]
    memory: list[tuple[int, int, int]]  # ns since the start, in use, reserved
    held: list[tuple[int, int, int]]  # line, in use at the peak, largest buffer
    peak_live: int
    peak_reserved: int
    peak_line: int


class Core(Protocol):
    """Arguments are positional."""

    # ---- activation, in this order

    def provide_kernels(self, find: Callable[[str], int | None], /) -> None:
        """`find` gives the address of the code of a kernel of device/*.metal by its name."""

    def provide_driver(self, find: Callable[[], int], /) -> None:
        """`find` gives the address of the table of functions of the engine's driver: on CUDA a
        CudaDriver. Asked when the device is first used and not before."""

    def refuse(self, operator: str, dtypes: int, of: str, error: str, text: str, /) -> None:
        """A rule: the operator refuses the dtypes (a bit for each) of the argument `of`."""

    def widen(self, operator: str, dtypes: int, through: int, of: str, /) -> None:
        """A rule: for these dtypes the operator computes in the dtype `through`."""

    def activate(
        self,
        engine: str,
        recommended_max_bytes: int,
        max_buffer_bytes: int,
        macos_major: int,
        macos_minor: int,
        strict: bool,
        dense_operators: list[str],
        sparse_operators: list[str],
        operators_always_on_cpu: list[str],
        /,
    ) -> None:
        """Registers the device with torch, for good. The lists are the operators of a Mac."""

    def narrow_autocast(self, on: bool, /) -> None:
        """Whether batch norms under autocast are stored in bfloat16."""

    # ---- tensors and storages

    def host_alias_storage(self, storage: UntypedStorage, /) -> UntypedStorage:
        """A CPU storage over the bytes of an mps storage."""

    def tensor_extent(self, tensor: Tensor, /) -> tuple[int, int] | None:
        """(address, bytes) from the first element to the end of the storage; None for a tensor that
        is not on mps."""

    # ---- optimizers

    def may_group(self, lists: list[list[Tensor]], /) -> bool:
        """Whether an optimizer's lists, weights and gradients first, are of usual tensors, one for
        each weight, and nobody watches operators."""

    def count_results(self, on: bool, /) -> bool:
        """Whether the results of this thread's operators count as the Mac's memory; what it was
        before."""

    # ---- Metal kernels

    def error_buffer(self) -> tuple[int, int]:
        """(address, bytes) of what kernels report errors to."""

    def connect_metal(self, shader_calls: int, /) -> int:
        """Address of a ShaderCalls to address of the Metal that C++ extensions reach."""

    # ---- determinism

    def set_deterministic_algorithms(self, mode: bool, warn_only: bool, /) -> None: ...

    def deterministic_algorithms_only_warn(self) -> bool: ...

    # ---- profiler

    def open_recording(self) -> int:
        """Keeps what runs on the device from now on; a handle for close_recording."""

    def close_recording(self, handle: int, /) -> tuple[list[Record], int]:
        """The records, and how many more there were."""

    def take_trace(self) -> tuple[bool, bool, list[Record], int] | None:
        """(with events, with intervals, records, dropped) of the trace that was stopped last or
        still runs. Once, then None."""

    def records_kernels(self) -> bool:
        """Whether launches of Metal kernels are to be given to record_kernel."""

    def wait_to_time_kernel(self) -> None:
        """Before and after a launch: waits if somebody wants to know how long the kernel takes."""

    def record_kernel(
        self, name: str, arguments: tuple[Any, ...], detail: str, start_ns: int, end_ns: int, /
    ) -> None: ...

    # ---- ledger

    def start_ledger(
        self,
        find_all: bool,
        library_folders: list[str],
        internal_folders: list[str],
        printing_file: str,
        /,
    ) -> None:
        """find_all: refusals are recorded, and the work is done. A line of the program is one in a
        file outside of these folders; `printing_file` is torch's, which turns tensors into text."""

    def stop_ledger(self) -> None: ...

    def read_ledger(self) -> Ledger: ...

    def note_shader(self, kernels: str, /) -> None:
        """A Metal library with these kernels was compiled."""
