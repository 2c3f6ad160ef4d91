"""The objects that torch.mps.compile_shader returns: a library, and its kernels.

They look and fail like PyTorch's own (torch/csrc/mps/Module.cpp). What is ours: the keyword
`threadgroup_memory`, because Metal has dynamic threadgroup memory and PyTorch's binding does not.
"""

from __future__ import annotations

import functools
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from torch import Tensor, get_num_threads

from openmps.errors import ShaderError
from openmps.layouts import BUFFERS, SIMD_WIDTH
from openmps.msl.kernels import Kernel
from openmps.msl.library import Library, parse_library
from openmps.shader.arguments import VALUE_BYTES, Block, Casts, bind
from openmps.shader.grid import (
    THREADGROUP_BYTES,
    Size,
    check_memory,
    read_axes,
    read_memory,
    sizes,
)
from openmps.shader.language import language_options
from openmps.shader.launches import Launch, observers
from openmps.shader.native_errors import cast_error
from openmps.targets.base import (
    DYNAMIC_OFFSET,
    CompiledKernel,
    Target,
    ValueMemory,
    dispatch_struct,
)

_PACK = [dispatch_struct(bound).pack_into for bound in range(BUFFERS + 1)]
_pack_dynamic = struct.Struct("=I").pack_into


class Device(Protocol):
    """What a launch needs of the device core. Extents are (address, bytes)."""

    def tensor_extent(self, tensor: Tensor, /) -> tuple[int, int] | None:
        """None for a tensor that is not on mps."""

    def error_buffer(self) -> tuple[int, int]:
        """What kernels report errors to."""

    def wait_to_time_kernel(self) -> None:
        """For all that runs, if somebody wants to know how long a kernel takes."""


class Blocks:
    """A target's blocks. A call takes one and gives it back; each is for any thread."""

    def __init__(self, value_memory: Callable[[int], ValueMemory]) -> None:
        self.free: list[Block] = []
        self._value_memory = value_memory

    def new(self) -> Block:
        return Block(self._value_memory(VALUE_BYTES))


blocks_of = functools.cache(Blocks)


class MetalKernel:
    """A kernel, ready to call; natively `torch._C._mps_MetalKernel`."""

    __slots__ = (
        "_built",
        "_error_buffer",
        "_kernel",
        "_launch",
        "_limit",
        "_name",
        "_new_block",
        "_pool",
        "_source",
        "_tensor_extent",
        "_threadgroups",
        "_wait",
        "grid_axes",
    )

    def __init__(
        self,
        kernel: Kernel,
        source: str,
        built: CompiledKernel,
        device: Device,
        blocks: Blocks,
    ) -> None:
        self._kernel = kernel
        self._source = source
        self._name = kernel.name
        self._built = built
        self._launch = built.launch
        self._tensor_extent = device.tensor_extent
        self._error_buffer = device.error_buffer
        self._wait = device.wait_to_time_kernel
        self._limit = built.max_threads
        self._threadgroups = [p for p in kernel.parameters if p.kind == "threadgroup"]
        self.grid_axes = _grid_axes(kernel)
        self._pool = blocks.free
        self._new_block = blocks.new

    @property
    def max_threads_per_threadgroup(self) -> int:
        return self._limit

    @property
    def thread_execution_width(self) -> int:
        return SIMD_WIDTH

    @property
    def static_thread_group_memory_length(self) -> int:
        return self._built.static_threadgroup_bytes

    def __call__(
        self,
        *args: Any,
        threads: Any = None,
        group_size: Any = None,
        arg_casts: Any = None,
        error_buf_idx: Any = None,
        threadgroup_memory: Any = None,
    ) -> None:
        """Runs the kernel; argument n is its buffer n.

        threads             the grid: 1 to 3 numbers; the first tensor's numel if left out
        group_size          threads in a threadgroup, as many numbers
        arg_casts           "fp16", "bf16", "int32", "int16", "int8" or "uint8" for all numbers, or
                            {position: name}
        error_buf_idx       the buffer that the kernel reports errors to
        threadgroup_memory  bytes for [[threadgroup(0)]], or {index: bytes}
        """
        axes = None if threads is None else read_axes(threads)
        group = None if group_size is None else read_axes(group_size)
        casts = None if arg_casts is None else Casts(arg_casts)
        try:
            block = self._pool.pop()
        except IndexError:
            block = self._new_block()
        bind(block, args, casts, self._tensor_extent)
        if error_buf_idx is not None:
            block.bind(_buffer_index(error_buf_idx), *self._error_buffer())
        if axes is None:
            for arg in args:
                if isinstance(arg, Tensor):
                    axes = (arg.numel(),)
                    break
        grid_size, group_threads = sizes(axes, group, self._limit)
        addresses = block.addresses
        table = block.keep_extents() if block.extents else 0
        _PACK[len(addresses)](
            block.memory,
            0,
            self._built.header,
            *grid_size,
            *group_threads,
            *addresses,
            *block.sizes,
            table,
            len(block.extents),
            block.copied,
        )
        if self._threadgroups or threadgroup_memory is not None:
            self._give_memory(block, threadgroup_memory)
        if 0 not in grid_size:
            if observers:
                self._launch_observed(block, args, arg_casts, grid_size, group_threads)
            else:
                self._launch(block.address)
        block.clear()
        self._pool.append(block)

    def _launch_observed(
        self, block: Block, args: tuple[Any, ...], casts: Any, grid: Size, group: Size
    ) -> None:
        self._wait()
        start_ns = time.monotonic_ns()
        self._launch(block.address)
        self._wait()
        launch = Launch(
            self._kernel, self._source, args, casts, grid, group, start_ns, time.monotonic_ns()
        )
        for observer in tuple(observers):
            observer(launch)

    def launch_bound(
        self,
        addresses: tuple[int, ...],
        buffer_sizes: tuple[int, ...],
        copied: int,
        grid: Size,
        group: Size,
    ) -> None:
        """For C++ extensions: argument n is the memory at addresses[n], the host's if bit n of
        `copied` is set; nothing is left out."""
        try:
            block = self._pool.pop()
        except IndexError:
            block = self._new_block()
        block.addresses += addresses
        block.sizes += buffer_sizes
        _PACK[len(addresses)](
            block.memory,
            0,
            self._built.header,
            *grid,
            *group,
            *addresses,
            *buffer_sizes,
            0,
            0,
            copied,
        )
        if self._threadgroups:
            self._give_memory(block, None)
        if observers:
            self._launch_observed(block, (), None, grid, group)  # whose tensors, nobody knows
        else:
            self._launch(block.address)
        block.clear()
        self._pool.append(block)

    def _give_memory(self, block: Block, asked: Any) -> None:
        memory = {} if asked is None else read_memory(asked)
        for parameter in self._threadgroups:
            if not memory.get(parameter.index):
                raise ShaderError(
                    f"kernel '{self._name}' needs threadgroup memory for its argument "
                    f"'{parameter.name}' [[threadgroup({parameter.index})]]",
                    found="none in this call",
                    next_step=f"pass threadgroup_memory={{{parameter.index}: bytes}}, which only "
                    "openmps has: PyTorch on a Mac cannot run this kernel",
                )
        check_memory(self._name, memory, self._built.static_threadgroup_bytes)
        for index, size_bytes in memory.items():
            _pack_dynamic(block.memory, DYNAMIC_OFFSET + 4 * index, size_bytes)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("cannot pickle 'torch._C._mps_MetalKernel' object")


def _grid_axes(kernel: Kernel) -> int:
    """How many axes it sees of its position in the grid."""
    for parameter in kernel.parameters:
        if parameter.position == "thread_position_in_grid":
            return int(parameter.type[-1]) if parameter.type[-1] in "23" else 1
    return 1


def _buffer_index(given: Any) -> int:
    if not isinstance(given, int) or given < 0:
        raise cast_error(given)
    if given >= BUFFERS:
        raise ShaderError(
            f"a Metal kernel has buffers 0 to {BUFFERS - 1}",
            found=f"error_buf_idx={given}",
            next_step="give the error buffer a lower index",
        )
    return int(given)


class ShaderLibrary:
    """Kernels as attributes; natively `torch._C._mps_ShaderLibrary`.

    Any other attribute is a RuntimeError, as natively, so that hasattr() raises.
    """

    def __init__(self, library: Library, target: Target, device: Device) -> None:
        self.__dict__["_ShaderLibrary__built"] = (library, target, device, threading.Lock())

    def __getattr__(self, name: str) -> MetalKernel:
        # Reached once for each kernel: from then on it is in __dict__.
        library, target, device, lock = self.__dict__["_ShaderLibrary__built"]
        kernel = library.kernels.get(name)
        if kernel is None:
            raise RuntimeError(f"Failed to create function state object for: {name}")
        with lock:
            if name not in self.__dict__:
                built = target.kernel(library, name)
                _check_pipeline(built)
                blocks = blocks_of(target.value_memory)
                self.__dict__[name] = MetalKernel(
                    kernel, library.source.text, built, device, blocks
                )
        made: MetalKernel = self.__dict__[name]
        return made

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"'torch._C._mps_ShaderLibrary' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return list(self.__dict__["_ShaderLibrary__built"][0].kernels)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("cannot pickle 'torch._C._mps_ShaderLibrary' object")


def _check_pipeline(built: CompiledKernel) -> None:
    if built.static_threadgroup_bytes > THREADGROUP_BYTES:
        raise RuntimeError(
            "Failed to created pipeline state object, error: Threadgroup memory size "
            f"({built.static_threadgroup_bytes}) exceeds the maximum threadgroup memory allowed "
            f"({THREADGROUP_BYTES})"
        )


# Programs print these names, and test for them.
for _ours, _native in ((ShaderLibrary, "_mps_ShaderLibrary"), (MetalKernel, "_mps_MetalKernel")):
    _ours.__name__ = _ours.__qualname__ = _native
    _ours.__module__ = "torch._C"


@functools.cache
def cpu_target() -> Target:
    from openmps.targets.cpu import CpuTarget
    from openmps.targets.cpu_builder import CpuOptions

    # As many as torch's own operators take.
    return CpuTarget(CpuOptions(workers=get_num_threads))


@functools.cache
def cuda_target() -> Target:
    from openmps.targets.cuda import CudaTarget

    return CudaTarget()


def compile_shader(
    source: str, macos: tuple[int, int], device: Device, target: Target
) -> ShaderLibrary:
    library = parse_library(source, options=language_options(macos))
    target.open(library)
    return ShaderLibrary(library, target, device)
