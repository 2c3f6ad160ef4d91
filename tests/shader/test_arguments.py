"""Which bytes a kernel sees for each Python value. No kernel runs here."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from openmps.errors import DispatchError
from openmps.shader.library import MetalKernel

from .recorder import HEADER, Recorder, record

SOURCE = "kernel void k(device float* out, uint i [[thread_position_in_grid]]) { out[i] = i; }"
CAST_ERROR = (
    r"^Unable to cast Python instance of type {} to C\+\+ type '\?' \(#define "
    r"PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details\)$"
)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def kernel(recorder: Recorder) -> MetalKernel:
    return record(SOURCE, recorder).k


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(12, dtype=torch.float32, device="mps")


def test_a_tensor_is_bound_where_it_lies(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    assert kernel(x) is None
    assert recorder.last.buffers[0] == x.data_ptr()
    assert recorder.last.sizes[0] == 48
    assert recorder.last.header == HEADER


def test_a_view_is_bound_at_its_first_element(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    kernel(x[5:], x.view(3, 4).t(), x[::2])
    assert recorder.last.buffers[:3] == (x.data_ptr() + 20, x.data_ptr(), x.data_ptr())
    assert recorder.last.sizes[:3] == (28, 48, 48)


def test_strides_and_dtype_are_not_looked_at(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    kernel(x.view(torch.int32), x.expand(4, 12))
    assert recorder.last.buffers[:2] == (x.data_ptr(), x.data_ptr())


def test_buffers_that_no_argument_takes_are_null(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    kernel(x, x, x)
    kernel(x)
    assert recorder.last.buffers[1:] == (0,) * 30
    assert recorder.last.sizes[1:] == (0,) * 30


def test_parameters_and_subclasses_are_tensors(kernel: MetalKernel, recorder: Recorder) -> None:
    class Mine(torch.Tensor):
        pass

    parameter = torch.nn.Parameter(torch.ones(3, device="mps"))
    mine = torch.ones(5, device="mps").as_subclass(Mine)
    kernel(parameter, mine)
    assert recorder.last.buffers[:2] == (parameter.data_ptr(), mine.data_ptr())
    assert recorder.last.grid == (3, 1, 1)


def test_a_default_device_changes_nothing(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    with torch.device("mps"):
        kernel(x, torch.tensor(1.5, device="cpu"), 2.5)
    assert recorder.last.buffers[0] == x.data_ptr()
    assert recorder.last.floats(1) + recorder.last.floats(2) == (1.5, 2.5)


def test_values_are_told_from_tensors(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    parameter = torch.nn.Parameter(torch.tensor(1.5))
    kernel(x, 1.5, 7, True, [1, 2, 3], [x], torch.tensor(2), x[3], parameter, x.view(3, 4))
    assert recorder.last.copied == {1, 2, 3, 4, 5, 6, 8}
    kernel(x, 1.5, x, error_buf_idx=1)
    assert recorder.last.copied == set()
    kernel(x, 1.5, error_buf_idx=2, arg_casts="fp16")
    assert recorder.last.copied == {1}
    kernel(*[0.5] * 31, threads=1)
    assert recorder.last.copied == set(range(31))
    kernel(x)
    assert recorder.last.copied == set()


def test_an_empty_tensor_starts_nothing(kernel: MetalKernel, recorder: Recorder) -> None:
    kernel(torch.empty(0, device="mps"))
    assert recorder.launches == []


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (1.5, struct.pack("=f", 1.5)),
        (0.1, struct.pack("=f", 0.1)),
        (-0.0, struct.pack("=f", -0.0)),
        (1e300, struct.pack("=f", math.inf)),
        (-1e300, struct.pack("=f", -math.inf)),
        (math.inf, struct.pack("=f", math.inf)),
        (np.float64(2.5), struct.pack("=f", 2.5)),
        (7, struct.pack("=q", 7)),
        (-1, struct.pack("=q", -1)),
        (2**63 - 1, struct.pack("=q", 2**63 - 1)),
        (-(2**63), struct.pack("=q", -(2**63))),
        (True, struct.pack("=q", 1)),
        (False, struct.pack("=q", 0)),
    ],
)
def test_numbers_become_float32_and_int64(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor, value: Any, data: bytes
) -> None:
    kernel(x, value)
    assert recorder.last.data[1].startswith(data)


def test_not_a_number_stays_one(kernel: MetalKernel, recorder: Recorder, x: torch.Tensor) -> None:
    kernel(x, math.nan)
    assert math.isnan(recorder.last.floats(1)[0])


@pytest.mark.parametrize(
    ("tensor", "data"),
    [
        (torch.tensor(1.5), struct.pack("=f", 1.5)),
        (torch.tensor(0.1, dtype=torch.float64), struct.pack("=f", 0.1)),
        (torch.tensor(1.5, dtype=torch.half), struct.pack("=e", 1.5)),
        (torch.tensor(1.5, dtype=torch.bfloat16), b"\xc0\x3f"),
        (torch.tensor(-2, dtype=torch.int8), b"\xfe"),
        (torch.tensor(7), struct.pack("=q", 7)),
        (torch.tensor(True), b"\x01"),
        (torch.tensor(1 + 2j), struct.pack("=2f", 1, 2)),
        (torch.tensor(1 + 2j, dtype=torch.complex128), struct.pack("=2f", 1, 2)),
        (torch.arange(5.0)[3], struct.pack("=f", 3)),
        (torch.tensor(2.5, requires_grad=True), struct.pack("=f", 2.5)),
        (torch.tensor(2.5, dtype=torch.double, requires_grad=True), struct.pack("=f", 2.5)),
        (torch.nn.Parameter(torch.tensor(4.5)), struct.pack("=f", 4.5)),
    ],
)
def test_a_cpu_tensor_without_dimensions_is_a_number(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor, tensor: torch.Tensor, data: bytes
) -> None:
    kernel(x, tensor)
    assert recorder.last.data[1].startswith(data)
    assert recorder.last.buffers[1] != tensor.data_ptr()


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 2), (0,)])
def test_other_cpu_tensors_are_refused(kernel: MetalKernel, shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match=r"^Passed CPU tensor to MPS op$"):
        kernel(torch.zeros(shape))


def test_tensors_of_no_device_are_refused(kernel: MetalKernel, x: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match=r"^Passed META tensor to MPS op$"):
        kernel(torch.zeros((), device="meta"))
    with pytest.raises(RuntimeError, match=r"^Passed CPU tensor to MPS op$"):
        kernel(x, [x, torch.zeros(3)])


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_a_fake_tensor_has_no_address(kernel: MetalKernel) -> None:
    with FakeTensorMode():
        fake = torch.empty(3, device="mps")
    with pytest.raises(RuntimeError, match="tensor without memory"):
        kernel(fake)


def test_a_batched_tensor_has_no_address(kernel: MetalKernel, x: torch.Tensor) -> None:
    def call(row: torch.Tensor) -> torch.Tensor:
        kernel(row)
        return row

    with pytest.raises(RuntimeError, match="doesn't have storage"):
        torch.func.vmap(call)(x.view(3, 4))


def test_a_sparse_tensor_has_no_address(kernel: MetalKernel, x: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        kernel(x.to_sparse())


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_of_numbers_are_packed(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor, kind: type
) -> None:
    kernel(x, kind([1, 2, True]), kind([0.5, 2, np.float32(3)]), kind([1e300]))
    assert recorder.last.sizes[1] == 24
    assert recorder.last.data[1] == struct.pack("=2q", 1, 2)
    assert recorder.last.data[2].startswith(struct.pack("=3f", 0.5, 2, 3))
    assert recorder.last.data[3].startswith(struct.pack("=f", math.inf))


def test_a_shape_is_a_tuple_of_numbers(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    kernel(x, x.view(3, 4).shape)
    assert recorder.last.data[1] == struct.pack("=2q", 3, 4)


def test_the_first_element_decides(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    kernel(x, [1, np.int64(2), torch.tensor(3)])
    assert recorder.last.sizes[1] == 24
    kernel(x, [1.0, torch.tensor(2)])
    assert recorder.last.data[1].startswith(struct.pack("=2f", 1, 2))


def test_a_list_of_tensors_is_a_table_of_addresses(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    parts = [x[n:] for n in range(12)] + [torch.nn.Parameter(x)]
    kernel(x, parts)
    assert recorder.last.sizes[1] == 104
    assert recorder.last.data[1] == struct.pack("=2Q", x.data_ptr(), x.data_ptr() + 4)
    assert recorder.last.extents == [(p.data_ptr(), 48 - 4 * n % 48) for n, p in enumerate(parts)]


def test_what_a_list_points_to_is_forgotten_after_the_call(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    kernel(x, [x])
    kernel(x)
    assert recorder.last.extents == []


def test_long_lists_are_aligned_for_any_type(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    for length in (5, 17, 64, 512):
        kernel(x, list(range(length)))
        assert recorder.last.buffers[1] % 64 == 0


def test_numbers_are_aligned_for_a_vector_of_16_bytes(
    kernel: MetalKernel, recorder: Recorder
) -> None:
    kernel(*range(1, 20), threads=1)
    assert {address % 16 for address in recorder.last.buffers[:19]} == {0}


@pytest.mark.parametrize("empty", [[], ()])
def test_an_empty_list_is_refused(kernel: MetalKernel, x: torch.Tensor, empty: Any) -> None:
    text = "^Empty list/tuple can not be an argument to metal kernel$"
    with pytest.raises(RuntimeError, match=text):
        kernel(x, empty)


@pytest.mark.parametrize("values", [["a"], [None, 1], [[1, 2]], [np.float32(1)], [1j]])
def test_lists_of_other_things_are_refused(
    kernel: MetalKernel, x: torch.Tensor, values: Any
) -> None:
    with pytest.raises(RuntimeError, match=r"^Unexpected argument types$"):
        kernel(x, values)


@pytest.mark.parametrize(
    "value", [None, "text", b"bytes", np.float32(1), np.int64(1), 1j, {}, {1}, range(3), object()]
)
def test_other_values_are_refused(kernel: MetalKernel, x: torch.Tensor, value: Any) -> None:
    with pytest.raises(RuntimeError, match=r"^Unsupported argument type$"):
        kernel(x, value)


@pytest.mark.parametrize(
    "values", [[1, 2.5], (1, "a"), [1.0, "a"], [1, 2**63], [2**63], [1.0, None], [1, None]]
)
def test_mixed_lists_are_refused(kernel: MetalKernel, x: torch.Tensor, values: Any) -> None:
    with pytest.raises(RuntimeError, match=CAST_ERROR.format(type(values))):
        kernel(x, values)


def test_a_number_among_tensors_is_refused(kernel: MetalKernel, x: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match=CAST_ERROR.format("<class 'list'>")):
        kernel(x, [x, 1])


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
def test_integers_that_do_not_fit_are_refused(
    kernel: MetalKernel, x: torch.Tensor, value: int
) -> None:
    with pytest.raises(RuntimeError, match=CAST_ERROR.format("<class 'int'>")):
        kernel(x, value)


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        ("fp16", 3.14, struct.pack("=e", 3.14)),
        ("fp16", 7, struct.pack("=e", 7)),
        ("fp16", 1e6, struct.pack("=e", math.inf)),
        ("fp16", -70000, struct.pack("=e", -math.inf)),
        ("bf16", 1.0, b"\x80\x3f"),
        ("bf16", 1.00390625, b"\x80\x3f"),  # half way: to even
        ("bf16", 1.01171875, b"\x82\x3f"),
        ("bf16", math.nan, b"\xc0\x7f"),
        ("bf16", 3.4e38, b"\x80\x7f"),
        ("bf16", -2, b"\x00\xc0"),
        ("int32", 7.9, struct.pack("=i", 7)),
        ("int32", -7.9, struct.pack("=i", -7)),
        ("int32", 2**32 + 5, struct.pack("=i", 5)),
        ("int32", 1e20, struct.pack("=i", 2**31 - 1)),
        ("int32", -math.inf, struct.pack("=i", -(2**31))),
        ("int32", math.nan, struct.pack("=i", 0)),
        ("int16", -2, struct.pack("=h", -2)),
        ("int16", 65537, struct.pack("=h", 1)),
        ("int8", -1.0, b"\xff"),
        ("int8", 300, b"\x2c"),
        ("uint8", 200, b"\xc8"),
        ("uint8", 200.5, b"\xc8"),
        ("uint8", -3.0, b"\x00"),
        ("uint8", True, b"\x01"),
        ("", 1.5, struct.pack("=f", 1.5)),
        ("", 2, struct.pack("=q", 2)),
    ],
)
def test_casts(
    kernel: MetalKernel,
    recorder: Recorder,
    x: torch.Tensor,
    name: str,
    value: float,
    data: bytes,
) -> None:
    kernel(x, value, arg_casts=name)
    assert recorder.last.data[1].startswith(data)
    kernel(x, [value, value], arg_casts={1: name})
    assert recorder.last.data[1].startswith(data + data)


def test_casts_are_by_position_and_skip_tensors(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    kernel(x, 1.5, 2.5, torch.tensor(3.5), [x], arg_casts={2: "fp16", 3: "fp16", 4: "fp16"})
    assert recorder.last.floats(1) == (1.5,)
    assert recorder.last.data[2].startswith(struct.pack("=e", 2.5))
    assert recorder.last.floats(3) == (3.5,)
    assert recorder.last.data[4].startswith(struct.pack("=Q", x.data_ptr()))


def test_an_unknown_cast_prints_the_default(kernel: MetalKernel, x: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match=r"^Unsupported cast instruction int64$"):
        kernel(x, 1, arg_casts="int64")
    with pytest.raises(RuntimeError, match=r"^Unsupported cast instruction $"):
        kernel(x, 1, arg_casts={1: "int64"})


def test_an_unknown_cast_that_nothing_needs_is_no_error(
    kernel: MetalKernel, x: torch.Tensor
) -> None:
    kernel(x, arg_casts="int64")


@pytest.mark.parametrize(("value", "name"), [(5, "int"), (["fp16"], "list"), (1.5, "float")])
def test_casts_of_another_type_are_refused(
    kernel: MetalKernel, x: torch.Tensor, value: Any, name: str
) -> None:
    with pytest.raises(RuntimeError, match=f"^Unexpected caster arg type {name}$"):
        kernel(x, arg_casts=value)


@pytest.mark.parametrize("value", [{"1": "fp16"}, {1: 16}, {-1: "fp16"}])
def test_a_dict_of_casts_is_positions_and_names(
    kernel: MetalKernel, x: torch.Tensor, value: Any
) -> None:
    with pytest.raises(RuntimeError, match=CAST_ERROR.format("<class 'dict'>")):
        kernel(x, arg_casts=value)


def test_31_arguments_are_bound_and_32_refused(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    kernel(*[x] * 31)
    assert recorder.last.buffers == (x.data_ptr(),) * 31
    with pytest.raises(DispatchError, match="31 buffers") as refused:
        kernel(*[x] * 32)
    assert "found: 32 arguments" in str(refused.value)
    assert "next: pass a list of tensors" in str(refused.value)
    assert isinstance(refused.value, RuntimeError)


def test_a_list_has_at_most_4_kilobytes(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    kernel(x, [1] * 512, [1.0] * 1024, [x] * 512)
    assert recorder.last.sizes[1:4] == (4096,) * 3
    with pytest.raises(DispatchError, match="4096 bytes"):
        kernel(x, [1] * 513)


def test_a_refused_call_leaves_nothing_behind(
    kernel: MetalKernel, recorder: Recorder, x: torch.Tensor
) -> None:
    for _ in range(3):
        with pytest.raises(RuntimeError):
            kernel(x, 1.5, [x], None)
    kernel(x)
    assert recorder.last.buffers[1:] == (0,) * 30
