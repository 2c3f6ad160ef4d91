"""How a call of a Metal kernel becomes one launch on an NVIDIA GPU. The driver is a fake."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from openmps.errors import DispatchError, KernelFault, ShaderError
from openmps.msl.library import parse_library
from openmps.shader.library import Blocks, MetalKernel
from openmps.targets.base import PlainMemory
from openmps.targets.cuda import BuiltKernel, CudaKernel, declared_buffers, inline_buffers
from openmps.targets.cuda_driver import Driver, launcher

from .fake_cuda import CONTEXT, FUNCTION, FakeCuda

SOURCE = """
struct Plan { long rows; long columns; };
struct Parts { metal::array<device float*, 8> each; };
kernel void k(device float* out, constant float& a, constant int& b, constant Plan& plan,
              constant Parts& parts, device float* more, constant float* table [[buffer(30)]],
              uint3 i [[thread_position_in_grid]]) { out[i.x] = a; }
kernel void shared(device float* out, threadgroup float* a [[threadgroup(0)]],
                   threadgroup float* b [[threadgroup(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = a[0] + b[0];
}
"""
SPACE = 64  # after each value that is given memory


@pytest.fixture
def cuda() -> FakeCuda:
    return FakeCuda()


def device() -> Any:
    return torch._C._mps_host_alias_storage.__self__


Make = Callable[..., MetalKernel]


@pytest.fixture
def make(cuda: FakeCuda) -> Make:
    def make_kernel(name: str = "k", max_threads: int = 1024) -> MetalKernel:
        library = parse_library(SOURCE)
        kernel = CudaKernel(
            library.kernels[name],
            lambda alignment: BuiltKernel(b"image for %d" % alignment, max_threads, 0),
            Driver(cuda),
            launcher(),
        )
        return MetalKernel(library.kernels[name], SOURCE, kernel, device(), Blocks(PlainMemory))

    return make_kernel


@pytest.fixture
def kernel(make: Make) -> MetalKernel:
    return make()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.zeros(100, device="mps")


def test_a_kernel_is_built_again_for_buffers_that_are_aligned_to_less(
    kernel: MetalKernel, cuda: FakeCuda
) -> None:
    x = torch.zeros(256, dtype=torch.uint8, device="mps")
    assert x.data_ptr() % 16 == 0
    used = []
    for offset in (0, 16, 8, 4, 4, 2, 1, 24, 3, 0):
        kernel(x[offset:], 1.5)
        used.append(cuda.last.function)
    assert cuda.loaded == [b"image for %d" % n for n in (16, 8, 4, 2, 1)]
    most, eight, four, two, one = (FUNCTION + n for n in range(1, 6))
    assert used == [most, most, eight, four, four, two, one, eight, one, most]
    kernel(x, x[4:], 3, threads=1)
    assert cuda.last.function == four


def test_what_no_parameter_takes_may_lie_anywhere(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(x, 1.0, 2, (3, 4), [x], x, x[1:])
    assert cuda.last.function == FUNCTION + 1


def test_which_buffers_may_be_values() -> None:
    kernel = parse_library(SOURCE).kernels["k"]
    assert inline_buffers(kernel) == 0b11110 | 1 << 30
    assert declared_buffers(kernel) == 0b111111 | 1 << 30


def test_a_launch_is_one_call_on_the_default_stream(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(x, threads=(100, 7, 3), group_size=(32, 4, 1))
    assert cuda.calls == ["launch"]
    assert cuda.last.function == FUNCTION + 1
    assert cuda.last.blocks == (4, 2, 3)
    assert cuda.last.threads == (32, 4, 1)
    assert cuda.last.shared == 0
    assert cuda.last.stream is None
    launch = cuda.last.launch
    assert list(launch.grid) == [100, 7, 3]
    assert list(launch.group) == [32, 4, 1]
    assert list(launch.groups) == [4, 2, 3]
    assert launch.flat == 0
    assert list(launch.buffers) == [x.data_ptr(), *[0] * 30]
    assert not any(launch.inline_offset)
    assert not any(launch.dynamic_offset)


def test_numbers_travel_with_the_launch(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(x, 1.5, -7, (3, 4))
    launch = cuda.last.launch
    assert list(launch.inline_offset[:5]) == [0, 1, 17, 33, 0]
    assert launch.value(1, 4) == struct.pack("=f", 1.5)
    assert launch.value(2, 8) == struct.pack("=q", -7)
    assert launch.value(3, 16) == struct.pack("=2q", 3, 4)
    assert cuda.calls == ["launch"]


def test_tensors_and_cpu_numbers_in_constant_memory(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(x, x[5:], torch.tensor(2.5, dtype=torch.float64), torch.nn.Parameter(x))
    launch = cuda.last.launch
    assert list(launch.buffers[:4]) == [x.data_ptr(), x.data_ptr() + 20, 0, x.data_ptr()]
    assert launch.value(2, 4) == struct.pack("=f", 2.5)
    assert list(launch.inline_offset[:4]) == [0, 0, 1, 0]


def test_a_list_of_tensors_is_a_table_of_addresses(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(x, 1.0, 2, (3, 4), [x[n:] for n in range(8)])
    table = cuda.last.launch.value(4, 64)
    assert struct.unpack("=8Q", table) == tuple(x.data_ptr() + 4 * n for n in range(8))


def test_the_error_buffer_is_an_address(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(x, 1.0, error_buf_idx=1)
    assert cuda.last.launch.buffers[1] == device().error_buffer()[0]
    assert cuda.last.launch.inline_offset[1] == 0


def test_a_value_that_no_parameter_takes_is_left_out(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(x, 1.0, 2, (3, 4), [x], x, 6.5)
    assert cuda.last.launch.buffers[6] == 0
    assert cuda.last.launch.inline_offset[6] == 0


def test_a_value_for_device_memory_is_put_there(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(1.25, 1.0, threads=1)
    assert cuda.calls == ["allocate 128", "copy 128", "launch", "free"]
    launch = cuda.last.launch
    assert launch.buffers[0] == cuda.next_address
    assert cuda.copies[cuda.next_address][:4] == struct.pack("=f", 1.25)
    assert launch.value(1, 4) == struct.pack("=f", 1.0)


def test_values_that_do_not_fit_get_memory_together(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    table = list(range(60))
    arguments = [x, 1.0, 2, table, [x], 2.5, *[0] * 24, [7.0] * 64]
    kernel(*arguments)
    # 480 bytes for buffer 3 do not fit beside 16 + 16 and what follows; 5 is no `constant` buffer.
    launch = cuda.last.launch
    assert launch.value(3, 480) == struct.pack("=60q", *table)
    assert launch.inline_offset[4] == 0
    memory = cuda.copies[cuda.next_address]
    places = [launch.buffers[n] - cuda.next_address for n in (4, 5, 30)]
    assert places == [0, 128, 256]
    assert memory[0:8] == struct.pack("=Q", x.data_ptr())
    assert memory[128:132] == struct.pack("=f", 2.5)
    assert memory[256:512] == struct.pack("=64f", *[7.0] * 64)
    assert len(memory) == 512 + SPACE
    assert cuda.calls == [f"allocate {512 + SPACE}", f"copy {512 + SPACE}", "launch", "free"]


def test_exactly_as_much_as_fits_travels_with_the_launch(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(x, 1.0, [5] * 62)  # 16 + 496
    assert cuda.calls == ["launch"]
    assert cuda.last.launch.value(2, 496) == struct.pack("=62q", *[5] * 62)
    kernel(x, 1.0, [5] * 63)
    assert cuda.calls[1:] == ["allocate 576", "copy 576", "launch", "free"]


def test_memory_is_freed_if_the_launch_fails(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(x)  # from now on this thread has the context
    cuda.calls.clear()
    cuda.answers["cuLaunchKernel"] = 1
    with pytest.raises(KernelFault):
        kernel(1.5, threads=1)
    assert cuda.calls == ["allocate 128", "copy 128", "free"]


def test_threadgroup_memory_lies_one_after_the_other(
    make: Make, cuda: FakeCuda, x: torch.Tensor
) -> None:
    make("shared")(x, threadgroup_memory={0: 20, 2: 100})
    assert cuda.last.shared == 32 + 112
    assert list(cuda.last.launch.dynamic_offset[:4]) == [0, 32, 32, 144]


LINE = 4


@pytest.mark.parametrize(
    ("threads", "group", "blocks", "flat"),
    [
        ((65535, 65535, 1), (1, 1, 1), (65535, 65535, 1), 0),
        ((1, 65536, 1), (1, 1, 1), (65536, 1, 1), 1),
        ((3, 2, 65537), (2, 1, 1), (2 * 2 * 65537, 1, 1), 1),
        ((2**31 - 1, 1, 1), (1, 1, 1), (2**31 - 1, 1, 1), LINE),
        ((2**32 - 1, 1, 1), (1024, 1, 1), (2**22, 1, 1), LINE),
        ((64, 1, 1), (32, 2, 1), (2, 1, 1), 0),
        ((64, 1, 2), (32, 1, 1), (2, 1, 2), 0),
    ],
)
def test_more_threadgroups_than_cuda_has_along_an_axis(
    kernel: MetalKernel,
    cuda: FakeCuda,
    x: torch.Tensor,
    threads: tuple[int, ...],
    group: tuple[int, ...],
    blocks: tuple[int, ...],
    flat: int,
) -> None:
    kernel(x, threads=threads, group_size=group)
    assert cuda.last.blocks == blocks
    assert cuda.last.launch.flat == flat
    groups = [-(-t // g) for t, g in zip(threads, group, strict=True)]
    assert list(cuda.last.launch.groups) == groups


@pytest.mark.parametrize(
    "threads",
    [(2**31, 1, 1), (32768, 65536, 1), (2**32 - 1, 2**32 - 1, 2**32 - 1), (2**32 - 1, 65536, 9)],
)
def test_more_threadgroups_than_a_launch_has(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor, threads: tuple[int, ...]
) -> None:
    with pytest.raises(DispatchError, match="more threadgroups than an NVIDIA GPU") as refused:
        kernel(x, threads=threads, group_size=(1, 1, 1))
    assert f"grid {threads}, threadgroup (1, 1, 1)" in str(refused.value)
    assert cuda.launches == []


def test_a_threadgroup_deeper_than_cuda_has(
    kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel(x, threads=(1, 1, 100), group_size=(1, 1, 64))
    assert cuda.last.threads == (1, 1, 64)
    assert cuda.last.launch.flat == 0
    kernel(x, threads=(3, 7, 100), group_size=(2, 5, 65))
    assert cuda.last.threads == (650, 1, 1)
    assert cuda.last.blocks == (2, 2, 2)
    assert cuda.last.launch.flat == 2
    assert list(cuda.last.launch.group) == [2, 5, 65]
    kernel(x, threads=(1, 65536, 100), group_size=(1, 1, 65))
    assert cuda.last.threads == (65, 1, 1)
    assert cuda.last.blocks == (65536 * 2, 1, 1)
    assert cuda.last.launch.flat == 3


def test_a_thread_without_a_context_gets_torch_s(
    make: Make, cuda: FakeCuda, x: torch.Tensor
) -> None:
    kernel = make()
    failures: list[BaseException] = []

    def call() -> None:
        try:
            kernel(x)
            kernel(1.5, threads=1)
        except BaseException as error:
            failures.append(error)

    cuda.contexts_set.clear()
    for _ in range(2):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    assert failures == []
    assert cuda.contexts_set == [CONTEXT, CONTEXT]  # once a thread
    assert len(cuda.launches) == 4


def test_another_library_gets_its_context_back(make: Make, cuda: FakeCuda, x: torch.Tensor) -> None:
    kernel = make()
    cuda.current.context = 0xAB
    kernel(x)
    assert len(cuda.launches) == 1
    assert cuda.current.context == 0xAB


def test_the_smaller_limit_of_threads_holds(make: Make, cuda: FakeCuda) -> None:
    assert make(max_threads=96).max_threads_per_threadgroup == 96
    cuda.max_threads = 640
    assert make().max_threads_per_threadgroup == 640


class TestFailures:
    def fail(self, kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor, code: int) -> str:
        cuda.answers["cuLaunchKernel"] = code
        with pytest.raises(KernelFault) as fault:
            kernel(x, group_size=64)
        return str(fault.value)

    def test_a_lost_gpu_names_the_kernel_before(
        self, kernel: MetalKernel, make: Make, cuda: FakeCuda, x: torch.Tensor
    ) -> None:
        make("shared")(x, threadgroup_memory={0: 16, 2: 16})
        text = self.fail(kernel, cuda, x, 700)
        assert text == (
            "kernel 'k' could not be started: work that was queued before it touched memory it "
            "must not (an address outside every tensor), and this process's GPU state is lost\n"
            "  found: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered; the "
            "last Metal kernel started was 'shared'\n"
            "  next: start the program again; check that kernel's indices against the sizes of "
            "its buffers (OPENMPS_ENGINE=cpu names the place)"
        )

    def test_too_many_resources(self, kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor) -> None:
        assert self.fail(kernel, cuda, x, 701) == (
            "kernel 'k' needs more registers or memory than the GPU has for a threadgroup\n"
            "  found: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for "
            "launch; grid (100, 1, 1), threadgroup (64, 1, 1)\n"
            "  next: use a smaller group_size, or less threadgroup memory"
        )

    def test_no_memory(self, kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor) -> None:
        kernel(x)
        cuda.answers["cuMemAllocAsync"] = 2
        with pytest.raises(KernelFault, match=r"^no GPU memory to start kernel 'k'\n"):
            kernel(1.5, threads=1)

    def test_what_has_no_name(self, kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor) -> None:
        text = self.fail(kernel, cuda, x, 12345)
        assert text.startswith("the driver refused to start kernel 'k'\n  found: CUDA error 12345;")

    def test_an_invalid_launch(self, kernel: MetalKernel, cuda: FakeCuda, x: torch.Tensor) -> None:
        text = self.fail(kernel, cuda, x, 1)
        assert "CUDA_ERROR_INVALID_VALUE: invalid argument; grid (100, 1, 1)" in text

    def test_a_kernel_that_cannot_be_loaded(self, make: Make, cuda: FakeCuda) -> None:
        cuda.answers["cuModuleLoadData"] = 2
        with pytest.raises(ShaderError, match=r"^loading kernel 'k' failed\n") as refused:
            make()
        assert "CUDA_ERROR_OUT_OF_MEMORY: out of memory" in str(refused.value)

    def test_a_gpu_that_was_lost_before_loading(self, make: Make, cuda: FakeCuda) -> None:
        cuda.answers["cuModuleLoadData"] = 700
        with pytest.raises(KernelFault, match=r"^loading kernel 'k' failed: .* state is lost"):
            make()


def test_the_architecture_is_the_gpu_s(cuda: FakeCuda) -> None:
    assert Driver(cuda).architecture == "sm_90"
    cuda.capability = {75: 12, 76: 1}
    assert Driver(cuda).architecture == "sm_121"
