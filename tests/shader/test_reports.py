"""Errors that kernels report: seen when the program next waits for the device, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from .recorder import Recorder, record

SOURCE = """
#include <c10/metal/error.h>
kernel void limit(device float* x, constant int& most, device c10::metal::ErrorMessages* errors,
                  uint i [[thread_position_in_grid]]) {
    if (int(i) >= most) {
        TORCH_REPORT_ERROR(errors, "element ", i, " is over ", most);
    }
    x[i] = i;
}
"""


@pytest.fixture(scope="module")
def limit() -> Any:
    return torch.mps.compile_shader(SOURCE).limit


@pytest.fixture
def x() -> torch.Tensor:
    return torch.zeros(10, device="mps")


def test_no_report_is_no_error(limit: Any, x: torch.Tensor) -> None:
    limit(x, 10, error_buf_idx=2)
    torch.mps.synchronize()
    assert x.tolist() == list(range(10))


def elapsed() -> None:
    start, end = (torch.mps.Event(enable_timing=True) for _ in range(2))
    start.record()
    end.record()
    start.elapsed_time(end)


WAITS: dict[str, Callable[[torch.Tensor], Any]] = {
    "mps.synchronize": lambda x: torch.mps.synchronize(),
    "accelerator.synchronize": lambda x: torch.accelerator.synchronize(),
    "stream": lambda x: torch.accelerator.current_stream().synchronize(),
    "cpu": lambda x: x.cpu(),
    "item": lambda x: x[0].item(),
    "tolist": lambda x: x.tolist(),
    "to mps": lambda x: torch.ones(3).to("mps"),
    "copy_": lambda x: torch.ones(10).copy_(x),
    "elapsed_time": lambda x: elapsed(),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_report_is_raised_by_whatever_waits(
    limit: Any, x: torch.Tensor, wait: Callable[[torch.Tensor], Any]
) -> None:
    limit(x, 9, error_buf_idx=2)
    with pytest.raises(torch.AcceleratorError) as reported:
        wait(x)
    assert str(reported.value) == "element 9 is over 9"
    assert reported.value.error_code == 1
    assert isinstance(reported.value, RuntimeError)
    wait(x)  # once


def test_what_does_not_wait_does_not_raise(limit: Any, x: torch.Tensor) -> None:
    limit(x, 9, error_buf_idx=2)
    event = torch.mps.Event()
    event.record()
    event.synchronize()  # natively this waits for the event alone
    y = x + 1
    y.copy_(x)
    x.to("cpu", non_blocking=True)
    torch.ones(3).to("mps", non_blocking=True)
    with pytest.raises(torch.AcceleratorError):
        torch.mps.synchronize()


def test_the_kernel_goes_on_after_a_report(limit: Any, x: torch.Tensor) -> None:
    limit(x, 3, error_buf_idx=2)
    with pytest.raises(torch.AcceleratorError, match=r"^element [3-9] is over 3$"):
        torch.mps.synchronize()
    assert x.tolist() == list(range(10))


def test_more_reports_than_there_is_room_for(limit: Any) -> None:
    x = torch.zeros(5000, device="mps")
    for _ in range(3):
        limit(x, 0, error_buf_idx=2)
    with pytest.raises(torch.AcceleratorError, match=r"^element \d+ is over 0$"):
        torch.mps.synchronize()
    torch.mps.synchronize()
    assert torch.equal(x.cpu(), torch.arange(5000.0))


def test_negative_numbers_and_texts_are_written_out(x: torch.Tensor) -> None:
    library = torch.mps.compile_shader(SOURCE.replace('" is over "', '" < "'))
    library.limit(x, -12, error_buf_idx=2, threads=1)
    with pytest.raises(torch.AcceleratorError, match=r"^element 0 < -12$"):
        torch.mps.synchronize()


class TestIndex:
    """Which buffer the reports go to. No kernel runs."""

    SOURCE = "kernel void limit(device float* x, device void* errors [[buffer(2)]]) { x[0] = 1; }"

    def test_any_buffer_may_be_it(self, x: torch.Tensor) -> None:
        recorder = Recorder()
        kernel = record(self.SOURCE, recorder).limit
        kernel(x, 1, error_buf_idx=2)
        first = recorder.last.buffers[2]
        assert first != 0
        assert recorder.last.sizes[2] == 4 + 30 * 512
        kernel(x, error_buf_idx=30)
        assert recorder.last.buffers == (x.data_ptr(), *(0,) * 29, first)

    def test_it_takes_the_place_of_an_argument(self, x: torch.Tensor) -> None:
        recorder = Recorder()
        record(self.SOURCE, recorder).limit(x, x, x, error_buf_idx=1)
        assert recorder.last.buffers[1] not in (0, x.data_ptr())
        assert recorder.last.buffers[2] == x.data_ptr()

    @pytest.mark.parametrize("index", [-1, 1.5, "2", (2,)])
    def test_it_is_a_number(self, x: torch.Tensor, index: Any) -> None:
        with pytest.raises(RuntimeError, match=r"^Unable to cast Python instance of type"):
            record(self.SOURCE, Recorder()).limit(x, error_buf_idx=index)

    def test_it_is_below_31(self, x: torch.Tensor) -> None:
        with pytest.raises(RuntimeError, match="buffers 0 to 30"):
            record(self.SOURCE, Recorder()).limit(x, error_buf_idx=31)
