"""Kernels that read and write where they must not: the launch may end, nothing else does.

Each case runs in the process of the tests, beside tensors that must stay as they are.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from openmps.errors import KernelFault

pytestmark = pytest.mark.cpu_engine("a GPU ends the process whose kernel goes astray")

ACCESSES = {
    "write": "x[at] = T(7);",
    "add": "x[at] += T(1);",
    "read": "y[i] = x[at];",
    "both": "y[at] = x[at];",
    "atomic": "atomic_fetch_add_explicit((device atomic_uint*)(x) + at, 1u, memory_order_relaxed);",
    "simdgroup": "x[at] = T(simd_sum(1));",
    "threadgroup with a barrier": (
        "threadgroup T t[64]; t[l] = x[i % 64]; threadgroup_barrier(mem_flags::mem_threadgroup);"
        "t[at] = T(3); threadgroup_barrier(mem_flags::mem_threadgroup); y[i % 64] = t[63 - l];"
    ),
    "threadgroup": "threadgroup T t[64]; t[at] = T(3); y[i % 64] = t[i % 64];",
    "local": (
        "T a[40]; for (int j = 0; j < 40; ++j) a[j] = T(j); a[at] = T(9);"
        "y[i % 64] = a[i % 40] + a[(i * 7) % 40];"
    ),
    "number": "z[at] = T(5);",
}
TYPES = {"float": torch.float32, "uchar": torch.uint8, "long": torch.int64}
SOURCE = """#include <metal_stdlib>
using namespace metal;
typedef %s T;
kernel void stray(device T* x, device T* y, device T* z, constant long& offset,
                  constant long& stride, constant uint& guilty,
                  uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]]) {
  long at = long(i) %% 64;
  if (i >= guilty) at += offset + stride * long(i);
  %s
}"""


class Bystanders:
    """Tensors of many sizes, on both devices, that no kernel is given."""

    def __init__(self) -> None:
        sizes = (1, 2, 3, 8, 64, 100, 1000, 4096, 5000, 20000, 100_000, 300_000)
        self.tensors = [torch.full((n,), 1.25, device=d) for n in sizes for d in ("mps", "cpu")]

    def check(self) -> None:
        for tensor in self.tensors:
            assert (tensor == 1.25).all()


@pytest.fixture(scope="module")
def bystanders() -> Bystanders:
    return Bystanders()


def offsets(dice: random.Random, size: int) -> tuple[int, int]:
    near = (-1, -2, -64, size, size + 1, size + 66, 20_000, -20_000)
    offset = dice.choice((*near, 10**8, -(10**8), dice.randint(-(2**31), 2**31)))
    return offset, dice.choice((0, 0, 1, -1, 17, 4096, dice.randint(-(2**20), 2**20)))


@pytest.mark.parametrize("kind", ACCESSES)
@pytest.mark.parametrize("type_", TYPES)
def test_nothing_else_is_touched(kind: str, type_: str, bystanders: Bystanders) -> None:
    kernel = torch.mps.compile_shader(SOURCE % (type_, ACCESSES[kind])).stray
    dice = random.Random(f"{kind} {type_}")
    said = []
    for _ in range(35):
        size = dice.choice((1, 2, 64, 65, 5000, 70_000))
        # Sometimes of half precision: a kernel's type is not the tensor's.
        x = torch.zeros(size, dtype=dice.choice((TYPES[type_], torch.float16)), device="mps")
        y = torch.zeros(max(size, 64), dtype=TYPES[type_], device="mps")
        threads = dice.choice((1, 33, 64, 200, 3000))
        numbers = (*offsets(dice, size), dice.choice((0, 17)))
        try:
            kernel(
                x, y, 5 if kind == "number" else y, *numbers,
                threads=threads, group_size=min(64, threads),
            )  # fmt: skip
        except KernelFault as fault:
            said.append(str(fault))
    assert all("kernel 'stray'" in text for text in said)
    bystanders.check()


def faults(access: str, **sizes: int) -> Iterator[str]:
    source = f"""#include <metal_stdlib>
    kernel void far(device float* out, device const half4* in,
        uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
        uint g [[threadgroup_position_in_grid]]) {{ {access} }}"""
    kernel = torch.mps.compile_shader(source).far
    out = torch.zeros(64, device="mps")
    with pytest.raises(KernelFault) as caught:
        kernel(out, torch.zeros(256, dtype=torch.float16, device="mps"), **sizes)
    yield from str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("access", "said"),
    [
        (
            "out[i == 41 ? 100000000 : i % 64] = 1;",
            "buffer 0 (256 bytes): out[100000000] of 64 elements of float, "
            "in threadgroup (1, 0, 0), thread (41, 0, 0) of the grid",
        ),
        (
            "out[i % 64] = in[i == 29 ? -500000 : 0].x;",
            "buffer 1 (512 bytes): in[-500000] of 64 elements of half4, in threadgroup (0, 0, 0), "
            "thread (29, 0, 0) of the grid",
        ),
        (
            "if (i == 70) out[50000] = 2;",
            "buffer 0 (256 bytes): out[50000] of 64 elements of float, in threadgroup (2, 0, 0), "
            "thread (70, 0, 0) of the grid",
        ),
        (
            "if (l == 3 && g == 2) out[90000] = 2;",
            "out[90000] of 64 elements of float, in threadgroup (2, 0, 0), thread (67, 0, 0)",
        ),
        (
            "float s = metal::simd_sum(float(i)); if (i == 99) out[90000] = s;",
            "out[90000] of 64 elements of float, in threadgroup (3, 0, 0), simdgroup 0, "
            "thread (99, 0, 0)",
        ),
    ],
)
def test_a_fault_names_buffer_index_and_thread(access: str, said: str) -> None:
    _, found, _ = faults(access, threads=128, group_size=32)
    assert said in found


def test_a_miss_of_threadgroup_memory_is_named() -> None:
    _, found, _ = faults(
        "threadgroup float t[64]; t[l == 5 ? 900000 : l] = 1; out[i % 64] = t[l];",
        threads=64,
        group_size=32,
    )
    assert "after the end of the threadgroup memory (256 bytes)" in found
    assert "thread (5, 0, 0) of the grid" in found


def test_the_outputs_hold_what_was_written_before_the_fault() -> None:
    # Finding the thread runs parts of the kernel again.
    library = torch.mps.compile_shader("""kernel void count(device int* counts,
        uint i [[thread_position_in_grid]]) { counts[i == 50 ? 70000000 : i] += 1; }""")
    counts = torch.zeros(64, dtype=torch.int32, device="mps")
    with pytest.raises(KernelFault):
        library.count(counts)
    assert counts.max() <= 1


def test_a_tensor_keeps_its_contents_when_a_kernel_first_sees_it() -> None:
    library = torch.mps.compile_shader(
        "kernel void one(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
    )
    for size in (1, 3, 1000, 30_000, 200_000):
        tensor = torch.arange(float(size), device="mps")
        view, middle = tensor[:], tensor[size // 2 :]
        before = torch.mps.current_allocated_memory()
        library.one(middle)
        assert torch.mps.current_allocated_memory() == before
        expected = torch.arange(float(size))
        expected[size // 2 :] += 1
        assert tensor.cpu().equal(expected)
        assert view.cpu().equal(expected)
        tensor.resize_(2 * size + 1)
        assert tensor[:size].cpu().equal(expected)


def test_a_host_alias_stays_one() -> None:
    library = torch.mps.compile_shader(
        "kernel void one(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }"
    )
    tensor = torch.zeros(8, device="mps")
    alias = torch._C._mps_host_alias_storage(tensor.untyped_storage())
    host = torch.tensor([], dtype=torch.float32).set_(alias)
    library.one(tensor)
    torch.mps.synchronize()
    assert host.equal(torch.ones(8))
