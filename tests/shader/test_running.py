"""torch.mps.compile_shader, from source text to numbers in tensors."""

from __future__ import annotations

import itertools
import math
import os
import re
import threading
from typing import Any

import pytest
import torch

from openmps.device import engines
from openmps.errors import KernelFault
from openmps.shader.library import compile_shader as compile_for

from .recorder import core


def test_a_kernel_runs_once_for_each_element() -> None:
    squares = torch.empty(1000, dtype=torch.half, device="mps").fill_(-1)
    library = torch.mps.compile_shader("""
        kernel void roots(device half* out, uint i [[thread_position_in_grid]]) {
            out[i] = metal::sqrt(float(i));
        }
    """)
    assert library.roots(squares) is None
    assert torch.equal(squares.cpu(), torch.arange(1000.0).sqrt().half())


POSITIONS = """
#include <metal_stdlib>
using namespace metal;
kernel void visit(device int* out,
                  device atomic_int* visits,
                  uint3 at [[thread_position_in_grid]],
                  uint3 size [[threads_per_grid]],
                  uint3 in_group [[thread_position_in_threadgroup]],
                  uint3 group [[threadgroup_position_in_grid]],
                  uint3 group_size [[threads_per_threadgroup]],
                  uint3 whole [[dispatch_threads_per_threadgroup]],
                  uint3 groups [[threadgroups_per_grid]]) {
    uint n = (at.z * size.y + at.y) * size.x + at.x;
    atomic_fetch_add_explicit(visits + n, 1, memory_order_relaxed);
    device int* row = out + 18 * n;
    for (int axis = 0; axis < 3; axis++) {
        row[axis] = at[axis];
        row[3 + axis] = in_group[axis];
        row[6 + axis] = group[axis];
        row[9 + axis] = group_size[axis];
        row[12 + axis] = groups[axis];
        row[15 + axis] = whole[axis];
    }
}
"""


@pytest.mark.parametrize(
    ("threads", "group"),
    [
        ((1,), None),
        ((7,), None),
        ((1500,), None),
        ((100,), (32,)),
        ((33,), (32,)),
        ((5,), (64,)),
        ((5, 7), None),
        ((5, 7), (2, 3)),
        ((1, 12), (1, 5)),
        ((40, 3), (32, 1)),
        ((4, 5, 6), None),
        ((4, 5, 6), (3, 2, 4)),
        ((1, 1, 12), (1, 1, 8)),
        ((9, 9, 9), (8, 8, 8)),
    ],
)
def test_every_thread_knows_where_it_is(
    threads: tuple[int, ...], group: tuple[int, ...] | None
) -> None:
    library = torch.mps.compile_shader(POSITIONS)
    size = [*threads, 1, 1][:3]
    default = [min(threads[0], 1024) if len(threads) == 1 else 1024]
    whole = [*(group or default), 1, 1][:3]
    count = size[0] * size[1] * size[2]
    out = torch.full((count, 6, 3), -1, dtype=torch.int32, device="mps")
    visits = torch.zeros(count, dtype=torch.int32, device="mps")
    library.visit(out, visits, threads=threads, group_size=group)

    expected = []
    for z, y, x in itertools.product(*(range(n) for n in reversed(size))):
        at = (x, y, z)
        box = [a // w for a, w in zip(at, whole, strict=True)]
        here = [min(w, s - b * w) for w, s, b in zip(whole, size, box, strict=True)]
        inside = [a % w for a, w in zip(at, whole, strict=True)]
        boxes = [-(-s // w) for s, w in zip(size, whole, strict=True)]
        expected.append([at, inside, box, here, boxes, whole])
    assert torch.equal(out.cpu(), torch.tensor(expected, dtype=torch.int32))
    assert visits.eq(1).all()


LINE = """
kernel void line(device float* out, constant float& start, constant float& step,
                 uint i [[thread_position_in_grid]]) { out[i] = start + i * step; }
"""


@pytest.mark.parametrize(
    "step",
    [
        0.25,
        torch.tensor(0.25),
        torch.tensor(0.25, dtype=torch.float64),
        torch.tensor(0.25, device="mps"),
        torch.tensor([0.5, 0.25], device="mps")[1],
    ],
    ids=["float", "cpu", "double", "mps", "view"],
)
def test_a_number_may_come_in_many_ways(step: Any) -> None:
    out = torch.zeros(40, device="mps")
    torch.mps.compile_shader(LINE).line(out, -1.5, step)
    assert torch.equal(out.cpu(), torch.arange(40) * 0.25 - 1.5)


def test_integers_are_read_at_any_width() -> None:
    library = torch.mps.compile_shader("""
        kernel void widths(device long* out, constant long& a, constant int& b, constant uint& c,
                           constant short& d, constant uchar& e, constant bool& f) {
            out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f;
        }
    """)
    out = torch.zeros(6, dtype=torch.int64, device="mps")
    library.widths(out, -(2**40), -5, 7, -300, 200, True, threads=1)
    assert out.tolist() == [-(2**40), -5, 7, -300, 200, 1]


def test_casts_reach_the_kernel() -> None:
    library = torch.mps.compile_shader("""
        kernel void pair(device half* out, constant half2& ends, uint i [[thread_position_in_grid]])
        { out[i] = ends.x + i * ends.y; }
        kernel void mixed(device float* out, constant half& a, constant bfloat& b,
                          constant float& c, constant short& d, constant uchar& e) {
            out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e;
        }
    """)
    half = torch.zeros(9, dtype=torch.half, device="mps")
    library.pair(half, [1.5, 0.5], arg_casts="fp16")
    assert torch.equal(half.cpu(), torch.arange(9).half() * 0.5 + 1.5)
    out = torch.zeros(5, device="mps")
    casts = {1: "fp16", 2: "bf16", 4: "int16", 5: "uint8"}
    library.mixed(out, 0.1, 0.1, 0.1, -7.5, 250, threads=1, arg_casts=casts)
    tenth = torch.tensor(0.1)
    expected = [tenth.half().item(), tenth.bfloat16().item(), tenth.item(), -7.0, 250.0]
    assert out.tolist() == expected


def test_lists_are_structs_vectors_and_arrays() -> None:
    library = torch.mps.compile_shader("""
        struct Plan { long rows; long columns; };
        kernel void read(device float* out, constant Plan& plan, constant long* strides,
                         constant float4& four, constant metal::array<float, 3>& three) {
            out[0] = plan.rows; out[1] = plan.columns; out[2] = strides[4];
            out[3] = four.w; out[4] = three[2];
        }
    """)
    out = torch.zeros(5, device="mps")
    library.read(out, (3, 4), list(range(10, 20)), [1.0, 2.0, 3.0, 4.5], [7.0, 8.0, 9.0], threads=1)
    assert out.tolist() == [3, 4, 14, 4.5, 9]


def test_long_lists_and_values_where_the_kernel_has_device_memory() -> None:
    library = torch.mps.compile_shader("""
        kernel void read(device long* out, constant long* many, constant float* more,
                         device float* number, device int* place, constant int& last,
                         uint i [[thread_position_in_grid]]) {
            number[0] += i;
            out[i] = many[i] + long(more[i]) + (i == 0 ? place[1] : 0) + last;
        }
    """)
    out = torch.zeros(512, dtype=torch.int64, device="mps")
    many, more = list(range(512)), [1000.0 * n for n in range(1024)]
    for turn in range(3):  # what the first turn was given is not what the second one is
        library.read(out, [n + turn for n in many], more, 0.5, [7, 8 << 32], turn, group_size=1)
        expected = [1001 * n + 2 * turn for n in range(512)]
        assert out.tolist() == expected


def test_many_launches_with_long_lists_do_not_mix() -> None:
    library = torch.mps.compile_shader("""
        kernel void copy(device long* out, constant long* values,
                         uint i [[thread_position_in_grid]]) { out[i] = values[i]; }
    """)
    outs = torch.zeros(200, 500, dtype=torch.int64, device="mps")
    for number, out in enumerate(outs):
        library.copy(out, [number] * 500)
    assert torch.equal(outs.cpu(), torch.arange(200)[:, None].expand(200, 500))


@pytest.mark.parametrize("offset", [0, 1, 2, 3, 4, 8, 12, 16])
def test_vectors_lie_where_a_view_begins(offset: int) -> None:
    library = torch.mps.compile_shader("""
        kernel void twice(device const float4* in, device float4* out,
                          uint i [[thread_position_in_grid]]) { out[i] = in[i] * 2.0f; }
    """)
    values = torch.arange(40.0)
    start = torch.zeros(offset, dtype=torch.uint8)
    source = torch.cat([start, values.view(torch.uint8)]).to("mps")
    target = torch.zeros_like(source)
    library.twice(source[offset:], target[offset:], threads=10)
    assert torch.equal(target.cpu()[offset:].clone().view(torch.float32), values * 2)


@pytest.mark.parametrize("threads", [(1, 70_000), (3, 65_537), (1, 2, 65_600), (70_000, 2)])
def test_grids_that_are_long_along_any_axis(threads: tuple[int, ...]) -> None:
    library = torch.mps.compile_shader("""
        kernel void visit(device int* out, uint3 at [[thread_position_in_grid]],
                          uint3 size [[threads_per_grid]],
                          uint3 group [[threadgroup_position_in_grid]])
        { uint n = (at.z * size.y + at.y) * size.x + at.x; out[n] = n + group.z - at.z; }
    """)
    count = math.prod(threads)
    out = torch.zeros(count, dtype=torch.int32, device="mps")
    library.visit(out, threads=threads, group_size=(1,) * len(threads))
    assert torch.equal(out.cpu(), torch.arange(count, dtype=torch.int32))


def test_views_are_written_where_they_lie() -> None:
    x = torch.zeros(4, 6, device="mps")
    torch.mps.compile_shader(LINE).line(x[2, 1:4], 1.0, 1.0)
    expected = torch.zeros(4, 6)
    expected[2, 1:4] = torch.tensor([1.0, 2.0, 3.0])
    assert torch.equal(x.cpu(), expected)


def test_strides_are_the_kernel_s_business() -> None:
    x = torch.zeros(3, 4, device="mps")
    torch.mps.compile_shader(LINE).line(x.t(), 0.0, 1.0)
    assert torch.equal(x.cpu(), torch.arange(12.0).view(3, 4))


def test_more_tensors_than_a_kernel_has_buffers() -> None:
    library = torch.mps.compile_shader("""
        struct Many { metal::array<device float*, 80> parts; };
        kernel void total(constant Many& many, device float* out, constant uint& count,
                          uint i [[thread_position_in_grid]]) {
            float sum = 0;
            for (uint n = 0; n < count; n++) sum += many.parts[n][i];
            out[i] = sum;
        }
    """)
    whole = torch.arange(80 * 33, dtype=torch.float32, device="mps").view(80, 33)
    out = torch.zeros(33, device="mps")
    library.total(list(whole.unbind(0)), out, 80)
    assert torch.equal(out, whole.sum(0))
    library.total(whole[:, 5:].unbind(0), out, 3, threads=10)
    assert torch.equal(out[:10], whole[:3, 5:15].sum(0))


def test_autograd_around_a_kernel() -> None:
    library = torch.mps.compile_shader("""
        kernel void cube(device float* y, constant float* x, uint i [[thread_position_in_grid]])
        { y[i] = x[i] * x[i] * x[i]; }
        kernel void slope(device float* gx, constant float* gy, constant float* x,
                          uint i [[thread_position_in_grid]]) { gx[i] = gy[i] * 3 * x[i] * x[i]; }
    """)

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
            context.save_for_backward(x)
            y = torch.empty_like(x)
            library.cube(y, x)
            return y

        @staticmethod
        def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
            (x,) = context.saved_tensors
            out = torch.empty_like(x)
            library.slope(out, gradient.contiguous(), x)
            return out

    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0, 3.0], device="mps"))
    Cube.apply(weight).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [3, 12, 27]


def test_results_are_there_for_the_next_operator() -> None:
    library = torch.mps.compile_shader(LINE)
    x = torch.zeros(64, device="mps")
    for turn in range(5):
        library.line(x, float(turn), 1.0)
        assert (x + 1).sum().item() == 64 * (turn + 1) + 63 * 32


def test_an_attribute_lowers_the_limit_of_threads() -> None:
    library = torch.mps.compile_shader("""
        [[max_total_threads_per_threadgroup(96)]]
        kernel void few(device int* out, uint i [[thread_position_in_grid]],
                        uint size [[threads_per_threadgroup]]) { out[i] = size; }
        kernel void many(device int* out, uint i [[thread_position_in_grid]]) { out[i] = 1; }
    """)
    assert library.many.max_threads_per_threadgroup == 1024
    assert library.few.max_threads_per_threadgroup == 96
    assert library.few.thread_execution_width == 32
    out = torch.zeros(100, dtype=torch.int32, device="mps")
    library.few(out)
    assert out.tolist() == [96] * 96 + [4] * 4
    with pytest.raises(ValueError, match=r"^Threadgroup size exceeds 96 limit$"):
        library.few(out, group_size=97)


REVERSE = """
#include <metal_stdlib>
using namespace metal;
kernel void dynamic(device int* x, threadgroup int* shared [[threadgroup(0)]],
                    uint i [[thread_position_in_grid]],
                    uint n [[thread_position_in_threadgroup]],
                    uint size [[threads_per_threadgroup]]) {
    shared[n] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = shared[size - 1 - n];
}
kernel void fixed(device int* x, uint i [[thread_position_in_grid]],
                  uint n [[thread_position_in_threadgroup]],
                  uint size [[threads_per_threadgroup]]) {
    threadgroup int shared[256];
    shared[n] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = shared[size - 1 - n];
}
"""


@pytest.mark.parametrize("name", ["dynamic", "fixed"])
def test_threadgroup_memory(name: str) -> None:
    library = torch.mps.compile_shader(REVERSE)
    x = torch.arange(700, dtype=torch.int32, device="mps")
    more = {"threadgroup_memory": 1024} if name == "dynamic" else {}
    getattr(library, name)(x, group_size=256, **more)
    parts = torch.arange(700, dtype=torch.int32).split(256)
    assert torch.equal(x.cpu(), torch.cat([part.flip(0) for part in parts]))


def test_threadgroup_memory_is_counted() -> None:
    library = torch.mps.compile_shader(REVERSE)
    assert library.fixed.static_thread_group_memory_length == 1024
    assert library.dynamic.static_thread_group_memory_length == 0
    library = torch.mps.compile_shader(REVERSE.replace("[256]", "[8193]"))
    with pytest.raises(RuntimeError) as refused:
        _ = library.fixed
    text = "Failed to created pipeline state object, error: Threadgroup memory size ("
    assert str(refused.value).startswith(text)


LOCAL = """
#include <metal_stdlib>
using namespace metal;
kernel void local(device int* out, uint i [[thread_position_in_grid]]) {{
    int mine[{length}];
    for (int k = 0; k < {length}; k++) mine[k] = out[i] * k;
    {barrier}
    out[i] = mine[(out[i] * 7919) % {length}];
}}
"""
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


@pytest.mark.cpu_engine("a GPU has its own limits")
@pytest.mark.parametrize("barrier", ["", BARRIER], ids=["plain", "coordinated"])
def test_a_kernel_that_needs_too_much_stack_is_told(barrier: str) -> None:
    out = torch.ones(64, dtype=torch.int, device="mps")
    kernel = torch.mps.compile_shader(LOCAL.format(length=1_000_000, barrier=barrier)).local
    with pytest.raises(KernelFault, match=r"kernel 'local' needs more stack") as caught:
        kernel(out)
    taken = re.search(r"take (\d+) bytes", str(caught.value))
    assert taken
    assert 4_000_000 <= int(taken[1]) / (32 if barrier else 1) < 4_100_000
    assert out.tolist() == [1] * 64


@pytest.mark.cpu_engine("a GPU has its own stacks")
@pytest.mark.parametrize("barrier", ["", BARRIER], ids=["plain", "coordinated"])
def test_local_arrays_in_a_thread_with_a_small_stack(barrier: str) -> None:
    kernel = torch.mps.compile_shader(LOCAL.format(length=5_000, barrier=barrier)).local
    out = torch.ones(32, dtype=torch.int, device="mps")
    before = threading.stack_size(512 << 10)
    try:
        thread = threading.Thread(target=kernel, args=(out,), kwargs={"group_size": 32})
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert out.tolist() == [7919 % 5_000] * 32


def test_the_same_kernel_from_many_threads() -> None:
    library = torch.mps.compile_shader(LINE)
    wrong: list[int] = []

    def work(number: int) -> None:
        out = torch.zeros(2000 + number, device="mps")
        expected = torch.arange(2000 + number) * 2.0 + number
        for _ in range(30):
            out.zero_()
            library.line(out, float(number), 2.0)
            if not torch.equal(out.cpu(), expected):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


class TestSyntaxErrors:
    @pytest.mark.parametrize(
        ("source", "place"),
        [
            ("not a shader", "1:"),
            ("kernel void k(device float* x) {\n  x[0] = nothing;\n}", "2:10: "),
            ("kernel void k(device float* x) { x[0] = 1.0 }", "1:"),
            ("kernel void k(device float* x) { x[0] = 1.0;", "1:"),
            ("kernel void k(device wrong* x) { }", "1:"),
            ("#include <no_such_header>\nkernel void k(device float* x) { x[0] = 1; }", "1:"),
        ],
    )
    def test_names_the_place(self, source: str, place: str) -> None:
        with pytest.raises(SyntaxError) as refused:
            torch.mps.compile_shader(source)
        assert str(refused.value).startswith(f"program_source:{place}")
        assert ": error: " in str(refused.value)
        assert refused.value.msg == str(refused.value)

    def test_is_raised_at_once_and_not_when_a_kernel_is_asked_for(self) -> None:
        with pytest.raises(SyntaxError):
            torch.mps.compile_shader(LINE + "kernel void bad(device int* x) { x[0] = y; }")

    def test_lambdas_came_with_macos_15(self) -> None:
        source = """
            kernel void twice(device float* x, uint i [[thread_position_in_grid]]) {
                auto f = [](float v) { return v * 2; };
                x[i] = f(x[i]);
            }
        """
        here = engines.find(os.environ["OPENMPS_ENGINE"]).shader_target()
        for macos in ((15, 0), (26, 0)):
            x = torch.tensor([1.0, 2.5], device="mps")
            compile_for(source, macos, core(), here).twice(x)
            assert x.tolist() == [2.0, 5.0]
        with pytest.raises(SyntaxError):
            compile_for(source, (14, 4), core(), here)


@pytest.mark.parametrize(("macos", "version"), [("14.4", 310), ("15.1", 320), ("26.0", 400)])
def test_the_mac_decides_the_language(python: Any, macos: str, version: int) -> None:
    code = """
import openmps, torch
openmps.activate()
x = torch.zeros(1, dtype=torch.int32, device="mps")
torch.mps.compile_shader("kernel void v(device int* x) { *x = __METAL_VERSION__; }").v(x)
print(x.item())
"""
    done = python("-c", code, OPENMPS_MACOS=macos)
    assert done.stdout.strip() == str(version), done.stderr


def test_programs_without_shaders_do_not_load_the_compiler(python: Any) -> None:
    code = """
import sys, openmps, torch
openmps.activate()
torch.ones(3, device="mps").sum().item()
rooms = ("openmps.shader.library", "openmps.msl", "openmps.emit", "openmps.targets")
print([name for name in sys.modules if name.startswith(rooms)])
"""
    done = python("-c", code)
    assert done.stdout.strip() == "[]", done.stderr
